package system_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
)

// With ZOOKEEPER_AUTH a stranger who reaches ZooKeeper can neither read the services' nodes nor change them: locks,
// marks of ids, announcements, the reconciler's election. It may be set on a running deployment, one service after
// the other. Orders go on, and when all services have it, nothing is open that was open before.
func TestStrangersAreKeptOutOfZooKeeper(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]bool{"from the start": false, "later": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t)
			cfg.ZooKeeperRoot += "/closed" // made by the services, not by the test
			auth := map[string]string{"ZOOKEEPER_AUTH": "orderstock:secret"}
			if !later {
				cfg.OrderEnv, cfg.StockEnv = auth, auth
			}
			st := systemtest.Start(t, cfg)
			owner, stranger := connectZooKeeper(t, st, "orderstock:secret"), connectZooKeeper(t, st, "orderstock:guess")
			t.Cleanup(func() {
				_ = st.Close()
				for _, node := range slices.Backward(tree(t, owner, st.ZooKeeperRoot())) { // nobody else can
					err := owner.Delete(node, -1)
					if err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNotEmpty) {
						t.Error(err)
					}
				}
			})
			send(t, st, "POST", st.Stocks[0].URL()+"/v1/stock/1/restock", `{"flag":"first","num":50}`)
			order := func() {
				t.Helper()
				send(t, st, "POST", st.Orders[0].URL()+"/v1/orders", `{"items":[{"goods_id":"1","num":1}]}`)
			}
			order()
			if later {
				for _, service := range st.Replicas() { // the order service first
					service.SetEnv(auth)
					if err := service.Restart(t.Context()); err != nil {
						t.Fatal(err)
					}
					order()
				}
			}
			isClosed(t, owner, stranger, st.ZooKeeperRoot())
			order()
		})
	}
}

// isClosed checks that the stranger can do nothing with the nodes.
func isClosed(t *testing.T, owner, stranger *zk.Conn, root string) {
	t.Helper()
	nodes := tree(t, owner, root)
	if len(nodes) < 10 {
		t.Fatalf("the services keep only %v", nodes)
	}
	for _, node := range nodes {
		_, _, read := stranger.Get(node)
		_, changed := stranger.Set(node, []byte("changed"), -1)
		_, made := stranger.Create(node+"/lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
		_, opened := stranger.SetACL(node, zk.WorldACL(zk.PermAll), -1)
		for what, err := range map[string]error{
			"reads": read, "changes": changed, "puts a node below": made, "opens": opened, "deletes": stranger.Delete(node, -1),
		} {
			leaf := errors.Is(err, zk.ErrNoChildrenForEphemerals) // nobody puts a node below an ephemeral one
			top := node == root && what == "deletes" && errors.Is(err, zk.ErrNotEmpty)
			gone := errors.Is(err, zk.ErrNoNode) // a lock was released since
			if !errors.Is(err, zk.ErrNoAuth) && !leaf && !top && !gone {
				t.Errorf("a stranger %s %s: %v", what, node, err)
			}
		}
	}
}

func connectZooKeeper(t *testing.T, st *system.System, auth string) *zk.Conn {
	t.Helper()
	conn, events, err := zk.Connect([]string{st.ZooKeeper.Addr()}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	go func() {
		for range events { // unused, but the library warns of a full channel
		}
	}()
	if err := conn.AddAuth("digest", []byte(auth)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// tree lists a node and all below it.
func tree(t *testing.T, conn *zk.Conn, node string) []string {
	t.Helper()
	nodes := []string{node}
	children, _, err := conn.Children(node)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
	for _, child := range children {
		nodes = append(nodes, tree(t, conn, node+"/"+child)...)
	}
	return nodes
}
