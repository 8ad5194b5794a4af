package coordination_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/coordination"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/zklock"
)

func session(t *testing.T, addr string, opts ...zklock.ConnectOption) *zklock.Session {
	t.Helper()
	s, err := zklock.Connect(t.Context(), []string{addr}, append(opts, zklock.WithSessionTimeout(5*time.Second))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // it may have been closed by the test
	return s
}

// TestReplicasComeAndGo: a watcher is told of each address once, whoever came first, and an address that
// is withdrawn, or whose process has ended, goes away. An empty set is not told.
func TestReplicasComeAndGo(t *testing.T) {
	addr, dir := serverstest.ZooKeeper(t).Addr(), coordination.Dir(serverstest.ZooKeeperRoot(t), "stock")
	told := make(chan []string, 16)
	var working sync.WaitGroup
	watching, stopWatching := context.WithCancel(t.Context())
	working.Go(func() {
		coordination.Watch(watching, session(t, addr), dir, coordination.Terms{}, func(string, error) {},
			func(urls []string) { told <- urls })
	})
	announce := func(s *zklock.Session, addr string) (withdraw func()) {
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { coordination.Announce(ctx, s, dir, addr, nil, slog.New(slog.DiscardHandler), func(bool) {}) })
		return func() {
			cancel()
			done.Wait()
		}
	}
	want := func(urls ...string) {
		t.Helper()
		for deadline := time.After(20 * time.Second); ; {
			select {
			case got := <-told:
				if len(got) == 0 {
					t.Error("told of an empty set")
				}
				if slices.Equal(got, urls) {
					return
				}
			case <-deadline:
				t.Fatalf("not told of %v", urls)
			}
		}
	}
	dying := session(t, addr)
	withdrawA := announce(session(t, addr), "10.0.0.1:8081")
	want("http://10.0.0.1:8081")
	withdrawB := announce(dying, "10.0.0.2:8081")
	want("http://10.0.0.1:8081", "http://10.0.0.2:8081")
	withdrawAgain := announce(session(t, addr), "10.0.0.1:8081") // as a process that was restarted does
	withdrawA()
	if err := dying.Close(); err != nil {
		t.Fatal(err)
	}
	want("http://10.0.0.1:8081")
	withdrawB()
	withdrawAgain()
	withdrawC := announce(session(t, addr), "[::1]:9")
	want("http://[::1]:9")
	withdrawC()
	stopWatching()
	working.Wait()
	for len(told) > 0 {
		if urls := <-told; len(urls) == 0 {
			t.Error("told of an empty set")
		}
	}
}

// TestZooKeeperAway: while ZooKeeper does not run, a watcher keeps what it was told. When ZooKeeper is back, the
// watcher is told of what changed.
// It takes 10 s: one session without a server, and the start of two.
func TestZooKeeperAway(t *testing.T) {
	t.Parallel()
	zookeeper := serverstest.Start(t, servers.StartZooKeeper, servers.Options{})
	dir := coordination.Dir("/away", "stock")
	told := make(chan []string, 16)
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	watcher, replicas := session(t, zookeeper.Addr()), session(t, zookeeper.Addr())
	working.Go(func() {
		coordination.Watch(ctx, watcher, dir, coordination.Terms{}, func(string, error) {},
			func(urls []string) { told <- urls })
	})
	defer working.Wait()
	defer stop()
	announce := func(addr string) {
		working.Go(func() {
			coordination.Announce(ctx, replicas, dir, addr, nil, slog.New(slog.DiscardHandler), func(bool) {})
		})
	}
	want := func(urls ...string) {
		t.Helper()
		for deadline := time.After(20 * time.Second); ; {
			select {
			case got := <-told:
				if slices.Equal(got, urls) {
					return
				}
			case <-deadline:
				t.Fatalf("not told of %v", urls)
			}
		}
	}
	announce("10.0.0.1:8081")
	want("http://10.0.0.1:8081")
	lost := watcher.Timeout() + time.Second // after which the session counts as lost
	if err := zookeeper.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-told:
		t.Errorf("told of %v while ZooKeeper was away", got)
	case <-time.After(lost):
	}
	if err := zookeeper.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	announce("10.0.0.2:8081")
	want("http://10.0.0.1:8081", "http://10.0.0.2:8081")
}

// TestAnnouncedOnce: a session that was lost by the local clock alone, because the answers of ZooKeeper were late, has
// its node already, and withdraws it.
func TestAnnouncedOnce(t *testing.T) {
	t.Parallel()
	addr, dir := serverstest.ZooKeeper(t).Addr(), coordination.Dir(serverstest.ZooKeeperRoot(t), "stock")
	var late sync.RWMutex // held while the answers are late
	s := session(t, addr, zklock.WithDialer(func(network, addr string, timeout time.Duration) (net.Conn, error) {
		conn, err := net.DialTimeout(network, addr, timeout)
		return lateConn{conn, &late}, err
	}))
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	announced := make(chan bool, 16)
	working.Go(func() {
		coordination.Announce(ctx, s, dir, "10.0.0.1:8081", nil, slog.New(slog.DiscardHandler),
			func(is bool) { announced <- is })
	})
	<-announced
	id := s.ID()
	late.Lock()
	<-s.Lost()
	late.Unlock()
	<-announced
	if now := s.ID(); now != id {
		t.Fatalf("session %#x is over: now it is %#x", id, now)
	}
	other := session(t, addr).Conn()
	if nodes, _, err := other.Children(dir); err != nil || len(nodes) != 1 {
		t.Errorf("announced %q: %v", nodes, err)
	}
	stop()
	working.Wait()
	if nodes, _, err := other.Children(dir); err != nil || len(nodes) > 0 {
		t.Errorf("left %q: %v", nodes, err)
	}
}

// lateConn gets no answers while late is held.
type lateConn struct {
	net.Conn
	late *sync.RWMutex
}

func (c lateConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.late.RLock()
	defer c.late.RUnlock()
	return n, err
}

// TestARemovedAnnouncementIsMadeAgain: by an operator, or with a snapshot that does not have it.
func TestARemovedAnnouncementIsMadeAgain(t *testing.T) {
	addr, dir := serverstest.ZooKeeper(t).Addr(), coordination.Dir(serverstest.ZooKeeperRoot(t), "stock")
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	announced := make(chan bool, 16)
	s := session(t, addr)
	working.Go(func() {
		coordination.Announce(ctx, s, dir, "10.0.0.1:8081", nil, slog.New(slog.DiscardHandler),
			func(is bool) { announced <- is })
	})
	defer working.Wait()
	defer stop()
	want := func(is bool) {
		t.Helper()
		select {
		case got := <-announced:
			if got != is {
				t.Fatalf("announced: %t, want %t", got, is)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("never announced: %t", is)
		}
	}
	want(true)
	nodes, _, err := s.Conn().Children(dir)
	if err != nil || len(nodes) != 1 {
		t.Fatalf("announced %q: %v", nodes, err)
	}
	if err := s.Conn().Delete(dir+"/"+nodes[0], -1); err != nil {
		t.Fatal(err)
	}
	want(false)
	want(true)
	if again, _, err := s.Conn().Children(dir); err != nil || len(again) != 1 || again[0] == nodes[0] {
		t.Errorf("announced %q: %v", again, err)
	}
}

// TestAStrangersAnnouncementIsIgnored: of one who does not know the token, or copies a proof of another session.
func TestAStrangersAnnouncementIsIgnored(t *testing.T) {
	addr, dir := serverstest.ZooKeeper(t).Addr(), coordination.Dir(serverstest.ZooKeeperRoot(t), "stock")
	stranger := session(t, addr)
	put := func(name string, data []byte, acl []zk.ACL) string {
		t.Helper()
		node := dir + "/" + name
		if _, err := stranger.Conn().Create(node, data, zk.FlagEphemeral, acl); err != nil {
			t.Fatal(err)
		}
		return node
	}
	announce := func(s *zklock.Session, addr string, tokens ...string) (withdraw func()) {
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		made := make(chan bool, 1)
		done.Go(func() {
			coordination.Announce(ctx, s, dir, addr, tokens, slog.New(slog.DiscardHandler), func(is bool) { made <- is })
		})
		<-made
		return func() {
			cancel()
			done.Wait()
		}
	}
	replicas := session(t, addr)
	defer announce(replicas, "10.0.0.1:8081", "token", "old")()
	defer announce(replicas, coordination.Secure+"10.0.0.2:8081", "token")()
	withdrawn := announce(replicas, coordination.Secure+"10.0.0.3:8081", "token")
	nodes, _, err := stranger.Conn().Children(dir)
	if err != nil || len(nodes) != 3 {
		t.Fatalf("announced %q: %v", nodes, err)
	}
	slices.Sort(nodes)
	proof, _, err := stranger.Conn().Get(dir + "/" + nodes[2])
	if err != nil {
		t.Fatal(err)
	}
	withdrawn()
	open, closed := zk.WorldACL(zk.PermAll), zk.DigestACL(zk.PermAll, "stranger", "secret")
	strangers := []string{
		put("10.6.6.1:8081_0000000000", nil, open), put("10.6.6.2:8081_0000000000", proof, open),
		put("10.6.6.3:8081_0000000000", nil, closed), put(nodes[2], proof, open),
	}
	defer announce(session(t, addr), "10.6.6.4:8081", "guess")()

	for _, c := range []struct {
		terms   coordination.Terms
		want    []string
		ignored int
	}{
		{coordination.Terms{Token: "token"}, []string{"http://10.0.0.1:8081", "https://10.0.0.2:8081"}, len(strangers) + 1},
		{coordination.Terms{Token: "old"}, []string{"http://10.0.0.1:8081"}, len(strangers) + 2},
		{coordination.Terms{Token: "token", HTTPS: true}, []string{"https://10.0.0.2:8081"}, len(strangers) + 2},
	} {
		ctx, stop := context.WithCancel(t.Context())
		why := map[string]error{}
		ignored := func(node string, err error) {
			if why[node] != nil {
				t.Errorf("%s is ignored twice", node)
			}
			why[node] = err
		}
		told := make(chan []string, 16)
		var working sync.WaitGroup
		working.Go(func() {
			coordination.Watch(ctx, session(t, addr), dir, c.terms, ignored, func(urls []string) { told <- urls })
		})
		if got := <-told; !slices.Equal(got, c.want) {
			t.Errorf("on %+v it follows %q; want %q", c.terms, got, c.want)
		}
		if c.terms.HTTPS { // another look, which does not report the same nodes again
			defer announce(replicas, coordination.Secure+"10.0.0.4:8081", "token")()
			if got := <-told; !slices.Equal(got, append(c.want, "https://10.0.0.4:8081")) {
				t.Errorf("then it follows %q", got)
			}
		}
		stop()
		working.Wait()
		if len(why) != c.ignored {
			t.Errorf("on %+v it ignores %v; want %d nodes", c.terms, why, c.ignored)
		}
		for _, node := range strangers {
			if !errors.Is(why[node], coordination.ErrUnproved) {
				t.Errorf("%s: %v", node, why[node])
			}
		}
	}
}

func TestReachable(t *testing.T) {
	for addr, want := range map[string]string{
		":8081": "127.0.0.1:8081", "[::]:8081": "127.0.0.1:8081", "0.0.0.0:8081": "127.0.0.1:8081",
		"10.1.2.3:8081": "10.1.2.3:8081", "stock:8081": "stock:8081",
	} {
		if got, err := coordination.Reachable(t.Context(), addr, "127.0.0.1:2181"); err != nil || got != want {
			t.Errorf("%s is reached at %s, %v; want %s", addr, got, err, want)
		}
	}
	if _, err := coordination.Reachable(t.Context(), "8081", "127.0.0.1:2181"); err == nil {
		t.Error("took an address without a port")
	}
}
