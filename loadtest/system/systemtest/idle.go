package systemtest

import (
	"testing"

	"orderstock/loadtest/system"
	"orderstock/pkg/servers"
)

// Idle returns a lab whose servers only sleep, and that has no services. The servers are killed when the test ends.
func Idle(t testing.TB) *system.System {
	t.Helper()
	server := func(name string) *servers.Server {
		s, err := servers.Start(t.Context(), servers.Spec{
			Name: name, Path: "/bin/sleep", Args: []string{"60"}, Dir: t.TempDir(), Addr: "127.0.0.1:1",
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Kill() })
		return s
	}
	return &system.System{Servers: &system.Servers{
		MySQL: &servers.MySQL{Server: server("mysql")}, Redis: &servers.Redis{Server: server("redis")},
		ZooKeeper: &servers.ZooKeeper{Server: server("zookeeper")},
	}}
}
