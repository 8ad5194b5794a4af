package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"orderstock/order-service/orderhttp"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

const redisPasswords = `hunt"er\2\n`

// composeRedis starts Redis as docker-compose.yml does. The function that it returns locates it for a user; "" is a
// stranger.
func composeRedis(t *testing.T) (*servers.Server, func(user string) redisdb.Server) {
	t.Helper()
	script, err := filepath.Abs("../../.compose/redis.sh")
	if err != nil {
		t.Fatal(err)
	}
	free, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(free)
	addr := net.JoinHostPort("127.0.0.1", port)
	at := func(user string) redisdb.Server {
		where := redisdb.Server{Addrs: []string{addr}}
		if user != "" {
			where.User, where.Password = user, redisPasswords
		}
		return where
	}
	stranger := redisdb.Open(at(""), 10*time.Second)
	t.Cleanup(func() { _ = stranger.Close() })
	secrets := t.TempDir()
	for _, name := range []string{"order", "stock", "console", "cluster"} {
		if err := os.WriteFile(filepath.Join(secrets, name), []byte(redisPasswords), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server, err := servers.Start(t.Context(), servers.Spec{
		Name: "redis", Path: script, Args: []string{"--port", port, "--bind", "127.0.0.1"}, Dir: t.TempDir(), Addr: addr,
		Env:   []string{"SECRETS=" + secrets},
		Ready: func(ctx context.Context) error { return stranger.Ping(ctx).Err() },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Kill() })
	return server, at
}

// TestNoCounterOutlivesACrashOfRedis without its time to live: its client would be refused for good.
func TestNoCounterOutlivesACrashOfRedis(t *testing.T) {
	t.Parallel()
	server, at := composeRedis(t)
	where := at("order")
	client := redisdb.Open(where, 10*time.Second)
	defer func() { _ = client.Close() }()
	// Each process of a service counts like this: the first request of a window with two commands, others with one.
	count := redis.NewScript(`
		local n = redis.call('incrby', KEYS[1], 1)
		if n == 1 then redis.call('pexpire', KEYS[1], 60000) end
		return n`)
	if err := count.Load(t.Context(), client).Err(); err != nil {
		t.Fatal(err)
	}
	keys := []string{"ratelimit:orders:192.0.2.1", "ratelimit:orders:192.0.2.2"}
	for range 2 {
		for _, key := range keys {
			if err := count.EvalSha(t.Context(), client, []string{key}).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if left, err := client.PTTL(t.Context(), key).Result(); err != nil || left == -1 {
			t.Errorf("after a crash, %s has no time to live: %v %v", key, left, err)
		}
	}
}

// TestRightsOfRedisUsers: each user has the rights that the stack needs, and no others.
func TestRightsOfRedisUsers(t *testing.T) {
	t.Parallel()
	_, at := composeRedis(t)
	for user, commands := range map[string]map[string]bool{
		"": {
			"ping": true, "get opflag:1": false, "set opflag:1 1": false, "del opflag:1": false, "flushall": false,
			"keys *": false, "config get dir": false, "acl list": false, "replicaof no one": false,
		},
		"order": {
			"ping": true, "set opflag:1 1 ex 60": true, "set other 1": false, "get opflag:1": false, "del opflag:1": false,
			"get ratelimit:reads:1": true, "del ratelimit:reads:1": false, "flushall": false, "keys *": false,
			"config get dir": false,
		},
		"stock": {
			"ping": true, "del opflag:1": true, "del other": false, "get opflag:1": false, "set opflag:1 1": false,
			"get stocklock:1": true, "get ratelimit:reads:1": false, "flushall": false, "flushdb": false, "keys *": false,
		},
		"console":  {"exists opflag:1": true, "exists other": false, "get opflag:1": false, "set opflag:1 1": false},
		"replica":  {"ping": true, "get opflag:1": false, "flushall": false, "replicaof no one": false},
		"sentinel": {"ping": true, "role": true, "get opflag:1": false, "flushall": false},
	} {
		where := at(user)
		client := redisdb.Open(where, 10*time.Second)
		defer func() { _ = client.Close() }()
		for command, allowed := range commands {
			var args []any
			for _, arg := range strings.Fields(command) {
				args = append(args, arg)
			}
			err := client.Do(t.Context(), args...).Err()
			if refused := redis.HasErrorPrefix(err, "NOPERM"); refused == allowed {
				t.Errorf("user %q: %s: %v", user, command, err)
			}
		}
	}
	wrong := at("order")
	wrong.Password = "demo"
	client := redisdb.Open(wrong, 10*time.Second)
	defer func() { _ = client.Close() }()
	if err := client.Ping(t.Context()).Err(); !redis.HasErrorPrefix(err, "WRONGPASS") {
		t.Errorf("a wrong password: %v", err)
	}
}

// TestTheUsersOfRedisSuffice for the code that logs in as them.
func TestTheUsersOfRedisSuffice(t *testing.T) {
	t.Parallel()
	_, at := composeRedis(t)
	quiet := slog.New(slog.DiscardHandler)
	orders, stock := redisdb.OpenFlags(at("order"), quiet), redisdb.OpenFlags(at("stock"), quiet)
	defer func() { _, _ = orders.Close(), stock.Close() }()
	// A call of a Redis that is slow for a moment is lost.
	try := 0
	serverstest.Eventually(t, "a flag is set once and taken once", func() bool {
		try++
		flag := strconv.Itoa(try)
		return orders.Set(t.Context(), flag) && stock.Take(t.Context(), flag) && !stock.Take(t.Context(), flag)
	})
	if orders.Take(t.Context(), "1") || stock.Set(t.Context(), "1") {
		t.Error("the order service took a flag, or the stock service set one")
	}

	var rate orderhttp.Rate
	if err := rate.UnmarshalText([]byte("1-D")); err != nil {
		t.Fatal(err)
	}
	limits := orderhttp.OpenLimits(orderhttp.LimitConfig{
		Redis: at("order"), Metrics: prometheus.NewRegistry(), Log: quiet,
	})
	defer func() { _ = limits.Close() }()
	engine := httpapi.NewEngine(quiet, httpapi.Options{})
	engine.GET("/", limits.Limit("reads", rate), func(c *gin.Context) { c.Status(http.StatusNoContent) })
	answer := func() int {
		rec := httptest.NewRecorder()
		engine.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		return rec.Code
	}
	if code := answer(); code != http.StatusNoContent {
		t.Errorf("the one request allowed was answered %d", code)
	}
	serverstest.Eventually(t, "a further request is refused", func() bool {
		return answer() == http.StatusTooManyRequests
	})

	where := at("stock")
	client := redisdb.Open(where, 10*time.Second)
	defer func() { _ = client.Close() }()
	script := redis.NewScript("return redis.call('incr', KEYS[1])") // as redis-lock does
	if err := script.Run(t.Context(), client, []string{"stocklock:1"}).Err(); err != nil {
		t.Errorf("a script on a lock: %v", err)
	}
}
