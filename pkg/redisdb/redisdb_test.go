package redisdb_test

import (
	"strings"
	"testing"
	"time"

	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers"
)

// The login is for the server and for the Sentinels, which refuse the default user as the cluster's do.
func TestLoginBySentinels(t *testing.T) {
	t.Parallel()
	failover, err := servers.StartRedisFailover(t.Context(), servers.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := failover.Kill(); err != nil {
			t.Error(err)
		}
	})
	as := func(user, password string, addrs []string, master string) redisdb.Client {
		c := redisdb.Open(redisdb.Server{Addrs: addrs, Master: master, User: user, Password: password}, 20*time.Second)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	do := func(addr string, command ...any) {
		t.Helper()
		if err := as("", "", []string{addr}, "").Do(t.Context(), command...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	do(failover.Servers[0].Addr(), "ACL", "SETUSER", "shop", "on", ">secret", "~*", "+@all")
	for _, s := range failover.Sentinels {
		do(s.Addr(), "ACL", "SETUSER", "shop", "on", ">secret", "+@all")
		do(s.Addr(), "ACL", "SETUSER", "default", "off")
	}
	sentinels := strings.Split(failover.Addr(), ",")
	user, err := as("shop", "secret", sentinels, servers.RedisMaster).Do(t.Context(), "ACL", "WHOAMI").Text()
	if err != nil || user != "shop" {
		t.Errorf("with a login: %q, %v", user, err)
	}
	for _, login := range [][2]string{{"", ""}, {"shop", "wrong"}} {
		if err := as(login[0], login[1], sentinels, servers.RedisMaster).Ping(t.Context()).Err(); err == nil {
			t.Errorf("login %q is let in", login)
		}
	}
}
