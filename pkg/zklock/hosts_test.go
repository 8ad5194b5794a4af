package zklock_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"orderstock/pkg/zklock"
)

const unknownName = "no-such-host.invalid"

func TestConnectPassesOverANameThatDoesNotResolve(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := zklock.Connect(ctx, []string{unknownName + ":2181", zookeeper(t)})
	must(t, err)
	closeSession(t, s)
}

func TestConnectTellsOfNamesThatDoNotResolve(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := zklock.Connect(ctx, []string{unknownName + ":2181"})
	if err == nil || !strings.Contains(err.Error(), "lookup "+unknownName) {
		t.Errorf("Connect says %v", err)
	}
}

func TestConnectIgnoresSpacesAroundAServer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	servers := []string{" " + zookeeper(t) + "\n"}
	s, err := zklock.Connect(ctx, servers)
	must(t, err)
	closeSession(t, s)
	if servers[0][0] != ' ' {
		t.Error("Connect changed the caller's list")
	}
}

// A connect string as Java's clients take it is a list, too. The port may be left out.
func TestConnectTakesAListInOneString(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	list := unknownName + ", " + zookeeper(t) + "," + unknownName + ":1"
	s, err := zklock.Connect(ctx, []string{list})
	must(t, err)
	closeSession(t, s)
}

func TestConnectRefusesBadServers(t *testing.T) {
	t.Parallel()
	addr := zookeeper(t)
	_, port, err := net.SplitHostPort(addr)
	must(t, err)
	for name, c := range map[string]struct {
		servers []string
		want    string
	}{
		"chroot first": {[]string{addr + "/app", addr}, "chroot"},
		"two chroots":  {[]string{addr + "/app," + addr + "/app"}, "chroot"},
		"bad chroot":   {[]string{addr + "/app//b"}, "chroot"},
		"an empty one": {[]string{addr + ",," + addr}, "want host:port"},
		"no host":      {[]string{":" + port}, "want host:port"},
		"no number":    {[]string{"localhost:zk"}, "want host:port"},
		"no port":      {[]string{"localhost:"}, "want host:port"},
		"bare IPv6":    {[]string{"::1"}, "want host:port"},
		"space inside": {[]string{"local host:2181"}, "space"},
		"only a space": {[]string{addr, " "}, "want host:port"},
		"none":         {nil, "server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if _, err := zklock.Connect(ctx, c.servers); err == nil || ctx.Err() != nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("Connect says %v, want it to speak of %q", err, c.want)
			}
		})
	}
}
