package herd_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/herd"
	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/zklock"
)

// limit bounds each step; a lost wake-up makes a test reach it.
const limit = 30 * time.Second

// lock is a handle of either package.
type lock interface {
	Token() zklock.Token
	Context() context.Context
	Release(ctx context.Context) error
}

type acquireFunc func(context.Context) (lock, error)

func of[L lock](acquire func(context.Context) (L, error)) acquireFunc {
	return func(ctx context.Context) (lock, error) { return acquire(ctx) }
}

func connect(t *testing.T) *zklock.Session {
	t.Helper()
	s, err := zklock.Connect(t.Context(), []string{serverstest.ZooKeeper(t).Addr()})
	must(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func acquire(t *testing.T, ctx context.Context, f acquireFunc) lock {
	t.Helper()
	lock, err := f(ctx)
	must(t, err)
	return lock
}

func release(t *testing.T, lock lock) {
	t.Helper()
	if err := lock.Release(within(t)); err != nil {
		t.Error(err)
	}
}

// TestExclusion also covers fault I, as all contenders begin at once on a path that is not there,
// and fault J: of so many releases some fall between a waiter's look and its wait.
func TestExclusion(t *testing.T) {
	path := serverstest.ZooKeeperRoot(t) + "/locks/lock"
	sessions := []*zklock.Session{connect(t), connect(t)}
	const contenders, rounds = 6, 15
	var (
		inside  atomic.Int32
		counter int // guarded by the lock under test alone
		last    zklock.Token
		all     sync.WaitGroup
	)
	for i := range contenders {
		f := herd.NewSingleNode(sessions[i%len(sessions)], path).Acquire
		all.Go(func() {
			for range rounds {
				lock, err := f(within(t))
				if err != nil {
					t.Errorf("acquire: %v", err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two hold the lock")
				}
				counter++
				if !last.Less(lock.Token()) {
					t.Errorf("token %s after %s", lock.Token(), last)
				}
				last = lock.Token()
				inside.Add(-1)
				if err := lock.Release(within(t)); err != nil {
					t.Errorf("release: %v", err)
				}
			}
		})
	}
	all.Wait()
	if counter != contenders*rounds {
		t.Errorf("%d of %d increments", counter, contenders*rounds)
	}
}

// TestFaultK: the waiter ahead gives up while the lock is held; the one behind it must look again
// and go on waiting.
func TestFaultK(t *testing.T) {
	f := of(herd.NewSingleNode(connect(t), serverstest.ZooKeeperRoot(t)+"/lock").Acquire)
	queued := func() { time.Sleep(150 * time.Millisecond) } // nothing tells that one waits
	holder := acquire(t, within(t), f)
	impatient, giveUp := context.WithCancel(within(t))
	gaveUp := make(chan error, 1)
	go func() {
		_, err := f(impatient)
		gaveUp <- err
	}()
	queued()
	granted := make(chan lock, 1)
	go func() {
		lock, err := f(within(t))
		if err != nil {
			t.Error(err)
		}
		granted <- lock
	}()
	queued()
	giveUp()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that gave up got %v", err)
	}
	select {
	case <-granted:
		t.Fatal("the waiter took the lock because the one ahead of it had gone")
	case <-time.After(300 * time.Millisecond):
	}
	release(t, holder)
	release(t, <-granted)
}

// TestFaultL: a waiter that gives up leaves no node behind.
func TestFaultL(t *testing.T) {
	s, dir := connect(t), serverstest.ZooKeeperRoot(t)+"/locks"
	f := of(herd.NewSingleNode(s, dir+"/lock").Acquire)
	holder := acquire(t, within(t), f)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := f(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the waiter got %v", err)
	}
	release(t, holder)
	awaitChildren(t, s, dir, 0)
}

// TestFaultM: a holder whose session was lost releases late, and must not touch the next holder's node.
func TestFaultM(t *testing.T) {
	path := serverstest.ZooKeeperRoot(t) + "/lock"
	lost, err := zklock.Connect(t.Context(), []string{serverstest.ZooKeeper(t).Addr()})
	must(t, err)
	stale := acquire(t, within(t), of(herd.NewSingleNode(lost, path).Acquire))
	if err := lost.Close(); err != nil { // the server removes its nodes, as at an expiry
		t.Fatal(err)
	}
	<-stale.Context().Done()
	if cause := context.Cause(stale.Context()); !errors.Is(cause, zklock.ErrLost) {
		t.Errorf("the lost handle's cause is %v", cause)
	}
	next := acquire(t, within(t), of(herd.NewSingleNode(connect(t), path).Acquire))
	if err := stale.Release(within(t)); err == nil {
		t.Error("the release of a lost lock returns no error")
	}
	select {
	case <-next.Context().Done():
		t.Error("the stale release took the next holder's lock")
	case <-time.After(200 * time.Millisecond):
	}
	release(t, next)
}

// TestLoss: a holder learns that its node was deleted.
func TestLoss(t *testing.T) {
	s := connect(t)
	path := serverstest.ZooKeeperRoot(t) + "/lock"
	lock := acquire(t, within(t), of(herd.NewSingleNode(s, path).Acquire))
	must(t, s.Conn().Delete(path, -1))
	<-lock.Context().Done()
	if cause := context.Cause(lock.Context()); !errors.Is(cause, zklock.ErrLost) {
		t.Errorf("cause %v", cause)
	}
	if err := lock.Release(within(t)); !errors.Is(err, zklock.ErrLost) {
		t.Errorf("release: %v", err)
	}
}

// TestHerd shows the herd effect: each release wakes all waiters, and one of zklock's mutex.
func TestHerd(t *testing.T) {
	const waiters = 12
	s := connect(t)
	for name, want := range map[string]int64{"single node": waiters, "predecessor watched": 1} {
		t.Run(name, func(t *testing.T) {
			once := func() int64 {
				path := serverstest.ZooKeeperRoot(t) + "/lock"
				var woken atomic.Int64
				var f acquireFunc
				if name == "single node" {
					m := herd.NewSingleNode(s, path)
					m.Woken = func() { woken.Add(1) }
					f = of(m.Acquire)
				} else {
					hooks := zklock.WithHooks(zklock.Hooks{Woken: func(string) { woken.Add(1) }})
					f = of(zklock.NewMutex(s, path, zklock.WithHandoff(1, 0), hooks).Acquire)
				}
				return wokenByRelease(t, f, waiters, want, woken.Load)
			}
			n := once()
			for try := 1; n != want && try < 5; try++ { // on a busy machine some are not there yet at the release
				n = once()
			}
			if n != want {
				t.Errorf("one release woke %d of %d waiters, want %d", n, waiters, want)
			}
		})
	}
}

// wokenByRelease returns how many of the waiters one release wakes.
func wokenByRelease(t *testing.T, f acquireFunc, waiters int, want int64, wakeups func() int64) int64 {
	t.Helper()
	holder := acquire(t, within(t), f)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	granted := make(chan struct{}, waiters)
	for range waiters {
		all.Go(func() {
			lock, err := f(ctx)
			if err != nil {
				return
			}
			granted <- struct{}{}
			<-ctx.Done()
			_ = lock.Release(context.WithoutCancel(ctx)) // the root is deleted in the end
		})
	}
	settle(wakeups) // arrivals wake waiters, too
	before := wakeups()
	release(t, holder)
	<-granted
	for end := time.Now().Add(5 * time.Second); wakeups()-before < want && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	settle(wakeups) // there are no more of them
	return wakeups() - before
}

// awaitChildren waits until the node, which existed before, has the wanted number of children.
func awaitChildren(t *testing.T, s *zklock.Session, path string, want int) {
	t.Helper()
	for deadline := time.After(limit); ; {
		names, _, events, err := s.Conn().ChildrenW(path)
		if want == 0 && errors.Is(err, zk.ErrNoNode) { // the server removes a container that is empty
			return
		}
		must(t, err)
		if len(names) == want {
			return
		}
		select {
		case <-events:
		case <-deadline:
			t.Fatalf("%s has the children %q, want %d", path, names, want)
		}
	}
}

// settle returns when the count has not moved for a while.
func settle(count func() int64) {
	for last := int64(-1); last != count(); time.Sleep(300 * time.Millisecond) {
		last = count()
	}
}

var must = serverstest.Must
