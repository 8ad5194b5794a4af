package zklock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

// The client library sends its credentials again after a reconnect, and its loop stopped for good when
// that write failed.
func TestWriteOfCredentialsFailsOnReconnect(t *testing.T) {
	t.Parallel()
	s, l := dialLink(t, zklock.WithAuth("digest", []byte("clerk:secret")))
	m := zklock.NewMutex(s, newRoot(t)+"/lock",
		zklock.WithHandoff(1, 0), zklock.WithACL(zk.WorldACL(zk.PermAll)))
	for range 3 {
		l.cutAfter(opSetAuth)
		_ = l.conn.Close() // the reconnect sends the credentials
		release(t, acquire(t, m))
	}
}

// A connection that ends while Connect sends the credentials is no reason for Connect to fail.
func TestWriteOfCredentialsFailsInConnect(t *testing.T) {
	l := &link{sent: map[int32]int{}}
	l.cutAfter(opSetAuth)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := zklock.Connect(ctx, []string{zookeeper(t)},
		zklock.WithDialer(l.dial), zklock.WithAuth("digest", []byte("clerk:secret")))
	must(t, err)
	defer closeSession(t, s)
	mine := newRoot(t) + "/mine"
	_, err = s.Conn().Create(mine, nil, 0, s.ACL())
	if err != nil {
		t.Fatal(err) // the ACL needs the credentials
	}
	check(t, s.Conn().Delete(mine, -1))
}

// failingConn fails each write once broken is set.
type failingConn struct {
	net.Conn
	broken *atomic.Bool
}

func (c failingConn) Write(p []byte) (int, error) {
	if c.broken.Load() {
		return 0, errCut
	}
	return c.Conn.Write(p)
}

// The library's loop ends when its connection is closed, although writes fail at the same time and
// nobody reads the answers of the requests that were under way.
func TestLibraryEndsWhileWritesFail(t *testing.T) {
	addr := zookeeper(t)
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	for round := range rounds {
		var broken atomic.Bool
		monitor := zklock.NewMonitor(func(network, address string, timeout time.Duration) (net.Conn, error) {
			conn, err := net.DialTimeout(network, address, timeout)
			return failingConn{conn, &broken}, err
		})
		conn, events, err := zk.Connect([]string{addr}, 10*time.Second,
			zk.WithDialer(monitor.Dial), zk.WithLogInfo(false), zk.WithLogger(quiet{}))
		must(t, err)
		s, err := zklock.Wrap(t.Context(), conn, monitor)
		must(t, err)
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				for {
					if _, _, err := conn.Exists("/"); errors.Is(err, zk.ErrConnectionClosed) {
						return
					}
				}
			})
		}
		time.AfterFunc(time.Duration(round)*10*time.Microsecond, func() { broken.Store(true) })
		conn.Close()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for range events {
			}
		}()
		await(t, ended, fmt.Sprintf("the end of the library's loop in round %d", round))
		all.Wait()
		closeSession(t, s)
	}
}

// Close keeps its bound although the server answers nothing and the session has long to live.
// It takes 11 s, the bound of Close.
func TestCloseWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	s, l := dialLink(t, zklock.WithSessionTimeout(time.Minute))
	l.silence()
	began := time.Now()
	closeSession(t, s)
	if d := time.Since(began); d > 14*time.Second {
		t.Errorf("Close took %s", d)
	}
}

// A server that has lost its data refuses a client that has seen later transactions than it has. The
// Session begins a new ZooKeeper session when the old one is over.
func TestServerLosesItsData(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	s, err := zklock.Connect(ctx, []string{server.addr}, zklock.WithSessionTimeout(2*time.Second))
	must(t, err)
	t.Cleanup(func() { closeSession(t, s) })
	m := zklock.NewMutex(s, "/lock")
	lock := acquire(t, m)
	for range 10 {
		must(t, errorOf(s.Conn().Create("/node-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))))
	}
	server.change(t, server.wipe)
	began := time.Now()
	release(t, acquire(t, m))
	t.Logf("acquired again after %s", time.Since(began))
	wantErr(t, lock.Release(ctx), zklock.ErrLost, "release of the lost lock")
}

// A server that was set back to an older state knows the session, and a node that this client has deleted since. The
// Session begins a new ZooKeeper session: it must not keep the old one, and with it that node, alive. It deletes the
// nodes that it knows, and does not leave them to the end of the old session.
// It takes 15 s: the server is away for some, so that it ends the old session later than the client.
func TestServerIsRestoredToAnOlderState(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	s := connectTo(t, server.addr, zklock.WithSessionTimeout(10*time.Second))
	m := zklock.NewMutex(s, "/lock", zklock.WithHandoff(1, 0))
	lock := acquire(t, m)
	held := acquire(t, zklock.NewMutex(s, "/held", zklock.WithHandoff(1, 0)))
	saved := t.TempDir()
	server.change(t, func() error { return os.CopyFS(saved, os.DirFS(server.data)) })
	release(t, lock)
	for range 10 {
		must(t, errorOf(s.Conn().Create("/node-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))))
	}
	id := s.ID()
	server.change(t, func() error {
		time.Sleep(3 * time.Second)
		return errors.Join(server.wipe(), os.CopyFS(server.data, os.DirFS(saved)))
	})
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	again := begin(ctx, m)
	release(t, acquireWith(t, ctx, zklock.NewMutex(s, "/held", zklock.WithHandoff(1, 0))))
	select {
	case <-again.done:
		t.Error("a node that is known stayed until the end of the old session")
	default:
	}
	wantErr(t, held.Release(ctx), zklock.ErrLost, "release of the lost lock")
	release(t, again.wait(t))
	t.Logf("acquired again after %s", time.Since(began))
	if s.ID() == id {
		t.Error("the old session goes on, with a node that was deleted")
	}
}

// A server that is set back to an older state, and soon has more transactions than its client has seen, keeps the
// client's session. It gives another contender the number of a node that the client has deleted.
func TestNumbersOfAnOlderStateAreLookedAt(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	s := connectTo(t, server.addr, zklock.WithSessionTimeout(20*time.Second))
	m := zklock.NewMutex(s, "/lock", zklock.WithHandoff(1, 0))
	for range 100 {
		release(t, acquire(t, m))
	}
	saved := t.TempDir()
	server.change(t, func() error { return os.CopyFS(saved, os.DirFS(server.data)) })
	release(t, acquire(t, m))
	id := s.ID()
	server.change(t, func() error { return errors.Join(server.wipe(), os.CopyFS(server.data, os.DirFS(saved))) })
	other := connectTo(t, server.addr)
	held := acquire(t, zklock.NewMutex(other, "/lock", zklock.WithHandoff(1, 0)))
	for range 10 {
		must(t, errorOf(other.Conn().Create("/node-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))))
	}
	a := begin(t.Context(), m)
	awaitChildren(t, other.Conn(), "/lock", 2)
	a.waits(t, other, "/lock", "acquired beside another holder")
	release(t, held)
	release(t, a.wait(t))
	if s.ID() != id {
		t.Error("the client has a new session: this proves nothing")
	}
}

// A handshake that takes longer than a third of the session timeout succeeds in the end.
func TestSlowHandshake(t *testing.T) {
	t.Parallel()
	const timeout = 2 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := zklock.Connect(ctx, []string{zookeeper(t)}, zklock.WithSessionTimeout(timeout),
		zklock.WithDialer(func(network, address string, limit time.Duration) (net.Conn, error) {
			conn, err := net.DialTimeout(network, address, limit)
			return &slowConn{Conn: conn}, err
		}))
	must(t, err)
	closeSession(t, s)
}

// slowConn sends its first packet, the handshake, after more than a third of two seconds.
type slowConn struct {
	net.Conn
	late sync.Once
}

func (c *slowConn) Write(p []byte) (int, error) {
	first := false
	c.late.Do(func() {
		first, p = true, bytes.Clone(p)
		time.AfterFunc(time.Second, func() { _, _ = c.Conn.Write(p) }) // fails if the client has given up
	})
	if first {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func TestConnectRefusesImpossibleTimeouts(t *testing.T) {
	for _, timeout := range []time.Duration{0, -time.Second, time.Microsecond, 60 * 24 * time.Hour} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := zklock.Connect(ctx, []string{zookeeper(t)}, zklock.WithSessionTimeout(timeout))
		if err == nil || !strings.Contains(err.Error(), "session timeout") {
			t.Errorf("a session timeout of %s: %v", timeout, err)
		}
		cancel()
	}
}

// Servers that accept a session and then drop the connection do not make their clients reconnect without a pause.
func TestReconnectsArePaced(t *testing.T) {
	t.Parallel()
	_, port, err := net.SplitHostPort(zookeeper(t))
	must(t, err)
	var dials atomic.Int32
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := zklock.Connect(ctx, []string{"127.0.0.1:" + port, "localhost:" + port},
		zklock.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			dials.Add(1)
			conn, err := net.DialTimeout(network, address, timeout)
			return &droppedConn{Conn: conn}, err
		}))
	must(t, err)
	defer closeSession(t, s)
	before := dials.Load()
	time.Sleep(3 * time.Second)
	if n := dials.Load() - before; n > 10 { // three without a pause, and one a second
		t.Errorf("%d reconnects in three seconds", n)
	}
}

// droppedConn ends after the handshake.
type droppedConn struct {
	net.Conn
	answered atomic.Bool
}

func (c *droppedConn) Read(p []byte) (int, error) {
	if c.answered.Swap(true) {
		_ = c.Conn.Close()
	}
	return c.Conn.Read(p)
}
