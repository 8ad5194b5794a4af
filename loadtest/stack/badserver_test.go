package stack_test

import (
	"testing"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/stack"
	"orderstock/loadtest/verify"
	"orderstock/pkg/servers/serverstest"
)

// TestDemoOnABadServer runs the whole stack, with orders, repeats and cancellations, on a server whose administrator
// has chosen bad defaults for the session variables. The verdict must pass.
func TestDemoOnABadServer(t *testing.T) {
	t.Parallel()
	server, _ := serverstest.BadServer(t)
	cfg := stack.Config{
		Dir: t.TempDir(), Bin: binaries(t), OrderServices: 1, StockServices: 1,
		Servers:       &stack.Servers{MySQL: server, Redis: serverstest.Redis(t), ZooKeeper: serverstest.ZooKeeper(t)},
		ZooKeeperRoot: serverstest.ZooKeeperRoot(t),
	}
	st, err := stack.Up(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Kill() })
	h, err := fire.Run(t.Context(), fire.Config{
		Target: st.Target(), Orders: 600, Concurrency: 40,
		Mix: fire.Mix{Goods: 5, Stock: 150, ItemsMax: 3, Repeat: 0.1, Cancel: 0.2},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(st.Dead()) > 0 {
		t.Errorf("dead: %v", st.Dead())
	}
	v, err := verify.Run(t.Context(), verify.Config{Databases: st.Databases(), History: h})
	if err != nil {
		t.Fatal(err)
	}
	if v.Outcome != verify.Pass || v.Confirmed < 100 {
		t.Errorf("%s", v)
	}
}
