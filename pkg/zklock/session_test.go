package zklock_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

func TestSessionKnowsTheNegotiatedTimeout(t *testing.T) {
	s := connect(t, zklock.WithSessionTimeout(time.Hour)) // the server has a limit
	if d := s.Timeout(); d < time.Second || d >= time.Hour {
		t.Errorf("timeout %v", d)
	}
	if _, _, err := s.Conn().Exists("/"); err != nil { // the library notes the id before it answers a request, not before
		t.Fatal(err)
	}
	if s.ID() == 0 || s.ID() != s.Conn().SessionID() {
		t.Errorf("session %#x, want %#x", s.ID(), s.Conn().SessionID())
	}
}

func TestConnectGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts and never answers
	must(t, err)
	defer func() { _ = listener.Close() }() // only accepted by the kernel
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = zklock.Connect(ctx, []string{listener.Addr().String()}, zklock.WithSessionTimeout(time.Second))
	wantErr(t, err, context.DeadlineExceeded, "the error")
}

func TestReconnectKeepsLocks(t *testing.T) {
	s, l := dialLink(t)
	path := newRoot(t) + "/lock"
	for name, m := range kindsOfMutex(s, path) {
		lock := acquire(t, m)
		id := s.ID()
		l.cutAfter(opExists)
		if _, _, err := s.Conn().Exists("/"); err == nil {
			t.Fatal("the connection was not cut")
		}
		// An answer on the new connection: the session went on.
		if _, _, err := s.Conn().Exists("/"); err != nil {
			t.Fatal(err)
		}
		if s.ID() != id || lock.Context().Err() != nil {
			t.Errorf("%s: lost by a reconnect: %v", name, context.Cause(lock.Context()))
		}
		release(t, lock)
	}
}

func kindsOfMutex(s *zklock.Session, path string) map[string]*zklock.Mutex {
	return map[string]*zklock.Mutex{
		"hand-off":    zklock.NewMutex(s, path+"-cohort"),
		"no hand-off": zklock.NewMutex(s, path+"-plain", zklock.WithHandoff(1, 0)),
	}
}

func TestExpiryWhileHolding(t *testing.T) {
	t.Parallel()
	s, l := dialLink(t)
	path := newRoot(t) + "/lock"
	for name, m := range kindsOfMutex(s, path) {
		t.Run(name, func(t *testing.T) {
			old := acquire(t, m)
			lost, id := s.Lost(), s.ID()
			l.expire(t)
			await(t, old.Context().Done(), "the loss of the lock")
			await(t, lost, "the loss of the session")
			wantErr(t, context.Cause(old.Context()), zklock.ErrLost, "the cause")

			// The Session goes on with the next ZooKeeper session, and the old handle cannot touch the new one.
			next := acquire(t, m)
			if !old.Token().Less(next.Token()) {
				t.Errorf("token %v after %v", next.Token(), old.Token())
			}
			if s.ID() == id {
				t.Errorf("still session %#x", id)
			}
			wantErr(t, old.Release(t.Context()), zklock.ErrLost, "release of a lost lock")
			if err := next.Context().Err(); err != nil {
				t.Errorf("a stale release ended the new lock: %v", err)
			}
			release(t, next)
		})
	}
}

func TestExpiryWhileWaiting(t *testing.T) {
	t.Parallel()
	s, l := dialLink(t)
	path := newRoot(t) + "/lock"
	for name, m := range kindsOfMutex(s, path) {
		t.Run(name, func(t *testing.T) {
			other := connect(t)
			held := acquire(t, zklock.NewMutex(other, m.Path()))
			a := begin(t.Context(), m)
			awaitChildren(t, other.Conn(), m.Path(), 2)
			l.expire(t)
			awaitChildren(t, other.Conn(), m.Path(), 2) // it queued again
			release(t, held)
			release(t, a.wait(t))
		})
	}
}

func TestExpiryWhileReleasing(t *testing.T) {
	s, l := dialLink(t)
	path := newRoot(t) + "/lock"
	m := zklock.NewMutex(s, path, zklock.WithHandoff(1, 0))
	lock := acquire(t, m)
	l.once(opDelete, func() bool {
		l.mu.Unlock()
		defer l.mu.Lock()
		l.expire(t) // before the delete is sent
		return false
	})
	// The node is gone with the session, so the release has nothing left to do.
	if err := lock.Release(t.Context()); err != nil && !errors.Is(err, zklock.ErrLost) {
		t.Error(err)
	}
	release(t, acquire(t, m))
}

// Nothing passes between client and server any more: by the local clock, the holder's context must end
// before the server may give the lock to another.
func TestSilenceEndsLocksInTime(t *testing.T) {
	t.Parallel()
	const timeout = 6 * time.Second
	s, l := dialLink(t, zklock.WithSessionTimeout(timeout))
	path := newRoot(t) + "/lock"
	var locks []*zklock.Lock
	for _, m := range kindsOfMutex(s, path) {
		locks = append(locks, acquire(t, m))
	}
	other := zklock.NewMutex(connect(t), path+"-plain")
	l.silence()
	began := time.Now()
	a := &acquisition{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.lock, a.err = other.Acquire(t.Context())
		if slices.ContainsFunc(locks, (*zklock.Lock).Valid) { // by the clock, even if its context ends late
			t.Error("another got the lock before its holder knew")
		}
	}()
	for _, lock := range locks {
		await(t, lock.Context().Done(), "the loss of the lock")
	}
	if d := time.Since(began); d > timeout*7/4 { // a busy machine
		t.Errorf("told after %v, the session timeout is %v", d, timeout)
	}
	lock := a.wait(t)
	l.restore()
	for _, m := range kindsOfMutex(s, path+"-after") {
		release(t, acquire(t, m))
	}
	release(t, lock)
	for _, lock := range locks {
		wantErr(t, lock.Release(t.Context()), zklock.ErrLost, "release of a lost lock")
	}
}

// A session whose lifetime has ended by the local clock may come back, with the nodes of locks that count as lost.
// They are removed, although their holders do nothing.
func TestNodesOfLostLocksAreRemovedWhenTheSessionComesBack(t *testing.T) {
	t.Parallel()
	const timeout = 8 * time.Second
	s, l := dialLink(t, zklock.WithSessionTimeout(timeout))
	path := newRoot(t) + "/lock"
	id, lock := s.Conn().SessionID(), acquire(t, zklock.NewMutex(s, path, zklock.WithHandoff(1, 0)))
	l.silence()
	time.Sleep(timeout / 4)
	keptAlive := l.elsewhere(t) // for 30 s more
	await(t, lock.Context().Done(), "the loss of the lock")
	_ = keptAlive.Close()
	l.restore()
	awaitChildren(t, connect(t).Conn(), path, 0)
	if now := s.Conn().SessionID(); now != id {
		t.Errorf("the node went with its session: %#x before, %#x now", id, now)
	}
}

func TestCloseEndsLocksAndWaits(t *testing.T) {
	for _, wrapped := range []bool{false, true} {
		path := newRoot(t) + "/lock"
		s := connect(t)
		if wrapped {
			s, _ = wrap(t)
		}
		other := connect(t)
		held := acquire(t, zklock.NewMutex(s, path, zklock.WithHandoff(1, 0)))
		waiting := []*acquisition{
			begin(t.Context(), zklock.NewMutex(s, path, zklock.WithHandoff(1, 0))),
			begin(t.Context(), zklock.NewMutex(s, path)),
		}
		awaitChildren(t, other.Conn(), path, 3)
		must(t, s.Close())
		awaitChildren(t, other.Conn(), path, 0)
		wantErr(t, context.Cause(held.Context()), zklock.ErrSessionClosed, "the holder's context")
		for _, a := range waiting {
			await(t, a.done, "the end of a waiting acquisition")
			wantErr(t, a.err, zklock.ErrSessionClosed, "a waiting acquisition")
		}
		if _, err := zklock.NewMutex(s, path).Acquire(t.Context()); !errors.Is(err, zklock.ErrSessionClosed) {
			t.Errorf("acquire on a closed session: %v", err)
		}
		wantErr(t, s.Close(), zklock.ErrSessionClosed, "second close")
	}
}

// An acquisition that gets the answer to its create just before Close, and goes on just after, leaves no node in the
// session of a wrapped connection, which stays.
func TestCloseOvertakesAnAcquisition(t *testing.T) {
	s, conn := wrap(t)
	dir := newRoot(t)
	node, err := conn.Create(dir+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	must(t, err)
	closeSession(t, s)
	zklock.Remove(s, node)
	awaitChildren(t, conn, dir, 0)
}

// wrap returns a session on a connection that the caller owns.
func wrap(t testing.TB) (*zklock.Session, *zk.Conn) {
	t.Helper()
	return wrapAt(t, zookeeper(t))
}

func wrapAt(t testing.TB, addr string) (*zklock.Session, *zk.Conn) {
	t.Helper()
	return wrapDialled(t, nil, addr)
}

func wrapDialled(t testing.TB, dial zk.Dialer, addrs ...string) (*zklock.Session, *zk.Conn) {
	t.Helper()
	monitor := zklock.NewMonitor(dial)
	conn, events, err := zk.Connect(addrs, 10*time.Second, zk.WithDialer(monitor.Dial), zk.WithLogInfo(false))
	must(t, err)
	t.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	s, err := zklock.Wrap(t.Context(), conn, monitor)
	must(t, err)
	t.Cleanup(func() { closeSession(t, s) })
	return s, conn
}

// A wrapped connection that its owner has closed does not come back: acquisitions fail.
// It takes 10 s, the session timeout.
func TestWrappedConnectionClosedByItsOwner(t *testing.T) {
	t.Parallel()
	s, conn := wrap(t)
	dir := newRoot(t) + "/lock"
	held := acquire(t, zklock.NewMutex(s, dir+"-held"))
	theirs := acquire(t, zklock.NewMutex(connect(t), dir+"-theirs"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	waiting := begin(ctx, zklock.NewMutex(s, dir+"-theirs"))
	awaitChildren(t, conn, dir+"-theirs", 2)
	conn.Close()
	for name, m := range kindsOfMutex(s, dir) {
		if _, err := m.Acquire(ctx); !errors.Is(err, zklock.ErrSessionClosed) ||
			!strings.Contains(err.Error(), "connection") {
			t.Errorf("%s: %v", name, err)
		}
	}
	await(t, waiting.done, "the end of the waiting acquisition")
	wantErr(t, waiting.err, zklock.ErrSessionClosed, "a waiting acquisition")
	await(t, held.Context().Done(), "the end of the lock")
	wantErr(t, held.Release(ctx), zklock.ErrLost, "release")
	if _, err := zklock.Wrap(ctx, conn, zklock.NewMonitor(nil)); !errors.Is(err, zklock.ErrSessionClosed) {
		t.Errorf("wrap of a closed connection: %v", err)
	}
	release(t, theirs)
}

// Wrap refuses what it cannot use, and does not wait for ever.
func TestWrapRefuses(t *testing.T) {
	monitor := zklock.NewMonitor(nil)
	addr := []string{zookeeper(t)}
	open := func(dial zk.Dialer) *zk.Conn {
		conn, events, err := zk.Connect(addr, 10*time.Second, zk.WithDialer(dial), zk.WithLogInfo(false))
		must(t, err)
		t.Cleanup(func() {
			conn.Close()
			for range events {
			}
		})
		return conn
	}
	own, foreign := open(monitor.Dial), open(net.DialTimeout)
	for name, c := range map[string]struct {
		conn    *zk.Conn
		monitor *zklock.Monitor
	}{
		"no monitor":                     {own, nil},
		"no connection":                  {nil, monitor},
		"a connection of another dialer": {foreign, zklock.NewMonitor(nil)},
		"another connection's monitor":   {foreign, monitor},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		s, err := zklock.Wrap(ctx, c.conn, c.monitor)
		if err == nil {
			closeSession(t, s)
		}
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "monitor") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := zklock.Wrap(t.Context(), own, monitor)
	must(t, err)
	closeSession(t, s)
}

// The release of a lock that is known to be lost needs no answer from ZooKeeper.
func TestReleaseOfALostLockDoesNotWait(t *testing.T) {
	t.Parallel()
	s, l := dialLink(t, zklock.WithSessionTimeout(2*time.Second))
	dir := newRoot(t)
	var locks []*zklock.Lock
	for _, m := range kindsOfMutex(s, dir+"/lock") {
		locks = append(locks, acquire(t, m))
	}
	locks = append(locks, acquire(t, zklock.NewRWMutex(s, dir+"/rw").Reader()),
		acquire(t, zklock.NewSemaphore(s, dir+"/sem", 1)))
	l.silence()
	released := make(chan error, len(locks))
	for _, lock := range locks {
		await(t, lock.Context().Done(), "the loss of the lock")
		go func() { released <- lock.Release(context.WithoutCancel(t.Context())) }()
	}
	for range locks {
		select {
		case err := <-released:
			wantErr(t, err, zklock.ErrLost, "release of a lost lock")
		case <-time.After(patience):
			t.Fatal("the release of a lost lock waits for ZooKeeper")
		}
	}
	l.restore()
	other := connect(t)
	for _, name := range []string{"/lock-cohort", "/lock-plain", "/rw", "/sem/leases"} {
		awaitChildren(t, other.Conn(), dir+name, 0) // the session may still be alive, with its nodes
	}
}

func TestWrapUsesTheCallersConnection(t *testing.T) {
	s, conn := wrap(t)
	path := newRoot(t) + "/lock"
	lock := acquire(t, zklock.NewMutex(s, path))
	names := awaitChildren(t, conn, path, 1)
	_, stat, err := conn.Get(path + "/" + names[0])
	must(t, err)
	if stat.EphemeralOwner != conn.SessionID() {
		t.Errorf("the node is of session %#x, want %#x", stat.EphemeralOwner, conn.SessionID())
	}
	release(t, lock)
	check(t, s.Close())
	if _, _, err := conn.Get("/"); err != nil {
		t.Errorf("the caller's connection after Close: %v", err)
	}
}

// A reconnect takes as long as its requests do, with credentials to be sent again and without.
func TestReconnectIsNotHeldUp(t *testing.T) {
	for name, opts := range map[string][]zklock.ConnectOption{
		"plain":     nil,
		"with auth": {zklock.WithAuth("digest", []byte("clerk:secret")), zklock.WithAuth("digest", []byte("porter:secret"))},
	} {
		t.Run(name, func(t *testing.T) {
			const limit = 150 * time.Millisecond
			least := patience
			for try := 0; try < 5 && least > limit; try++ { // the machine may be busy
				s, l := dialLink(t, opts...)
				for range 3 { // before the fourth reconnect there is a pause
					l.silence()
					l.restore()
					begin := time.Now()
					for {
						if _, _, err := s.Conn().Exists("/"); err == nil {
							break
						}
					}
					least = min(least, time.Since(begin))
				}
			}
			if least > limit {
				t.Errorf("the first answer after a reconnect took %s", least)
			}
		})
	}
}
