package coordination_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/coordination"
	"orderstock/pkg/zklock"
)

const auth = "orderstock:secret"

// TestOpenNodesAreClosed: those made before there was a password, and a stranger's. What a stranger has closed is
// reported.
func TestOpenNodesAreClosed(t *testing.T) {
	cfg := testConfig(t)
	cfg.Root += "/closed" // removed below: without the password nobody can
	stranger, owner := connect(t, cfg, "stranger:secret"), connect(t, cfg, auth)
	t.Cleanup(func() { deleteAll(t, owner, cfg.Root) })
	for _, node := range []string{"", "/ids", "/ids/1", "/replicas", "/replicas/stock", "/reconciler", "/strange"} {
		if _, err := stranger.Create(cfg.Root+node, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	strange := cfg.Root + "/ids/strange"
	for node, acl := range map[string][]zk.ACL{
		cfg.Root + "/reconciler/lock-0000000000":            zk.WorldACL(zk.PermAll),
		cfg.Root + "/replicas/stock/10.6.6.6:80_0000000000": zk.WorldACL(zk.PermAll),
		strange: zk.DigestACL(zk.PermAll, "stranger", "secret"),
	} {
		if _, err := stranger.Create(node, nil, zk.FlagEphemeral, acl); err != nil {
			t.Fatal(err)
		}
	}
	var log buffer
	cfg.Auth, cfg.Log = auth, slog.New(slog.NewTextHandler(&log, nil))
	if _, err := open(t, cfg).Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	nodes := tree(t, owner, cfg.Root)
	if len(nodes) != 10 {
		t.Errorf("left of 10 nodes: %v", nodes)
	}
	for _, node := range nodes {
		if node == strange {
			continue
		}
		_, _, read := stranger.Get(node)
		_, changed := stranger.Set(node, []byte("changed"), -1)
		_, made := stranger.Create(node+"/lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
		_, opened := stranger.SetACL(node, zk.WorldACL(zk.PermAll), -1)
		for what, err := range map[string]error{"reads": read, "changes": changed, "adds below": made, "opens": opened} {
			if !errors.Is(err, zk.ErrNoAuth) && !errors.Is(err, zk.ErrNoChildrenForEphemerals) {
				t.Errorf("a stranger %s %s: %v", what, node, err)
			}
		}
	}
	for _, line := range []string{
		`closed nodes that were open to everybody" nodes="[` + cfg.Root + " ",
		"has a node: if all services have it now, delete the node\" node=" + cfg.Root +
			"/reconciler/lock-0000000000 session=0x",
		"does not open a node: no service made it with this user and password; delete it\" node=" + strange + "\n",
	} {
		if !strings.Contains(log.String(), line) {
			t.Errorf("no %q in the log:\n%s", line, &log)
		}
	}
}

// TestARootOfAnotherPassword: the service says what to do, and goes on when that is done.
func TestARootOfAnotherPassword(t *testing.T) {
	cfg := testConfig(t)
	cfg.Root += "/closed"
	stranger := connect(t, cfg, "stranger:secret")
	if _, err := stranger.Create(cfg.Root, nil, 0, zk.AuthACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	var log buffer
	cfg.Auth, cfg.Log = auth, slog.New(slog.NewTextHandler(&log, nil))
	s := open(t, cfg)
	eventually(t, "the log says what to do", func() bool {
		return strings.Contains(log.String(), "ZOOKEEPER_AUTH does not open "+cfg.Root+": set the user and password")
	})
	soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.Get(soon); !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "ZOOKEEPER_AUTH does not open "+cfg.Root) {
		t.Errorf("no session in time: %v; want the reason", err)
	}
	if err := stranger.Delete(cfg.Root, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context()); err != nil {
		t.Error(err)
	}
}

func connect(t *testing.T, cfg coordination.Config, auth string) *zk.Conn {
	t.Helper()
	s, err := zklock.Connect(t.Context(), cfg.ZooKeeper, zklock.WithSessionTimeout(10*time.Second),
		zklock.WithAuth("digest", []byte(auth)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // the test is over
	return s.Conn()
}

// tree lists a node and all below it.
func tree(t *testing.T, conn *zk.Conn, node string) []string {
	t.Helper()
	nodes := []string{node}
	children, _, err := conn.Children(node)
	if err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNoAuth) {
		t.Error(err)
	}
	for _, child := range children {
		nodes = append(nodes, tree(t, conn, node+"/"+child)...)
	}
	return nodes
}

func deleteAll(t *testing.T, conn *zk.Conn, root string) {
	t.Helper()
	for _, node := range slices.Backward(tree(t, conn, root)) {
		if err := conn.Delete(node, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
			t.Error(err)
		}
	}
}

// buffer is a bytes.Buffer that goroutines may share.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
