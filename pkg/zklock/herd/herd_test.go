package herd_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/pkg/zklock"
	"orderstock/pkg/zklock/herd"
	"orderstock/pkg/zklock/internal/zktest"
)

// The locks are the same on the server of package zklocktest.
var inMemory = zktest.Again("TestCounterAtItsEnd") // it starts a ZooKeeper that is short of numbers

func TestInMemory(t *testing.T) {
	t.Parallel()
	inMemory.Check(t)
}

func TestMain(m *testing.M) {
	inMemory.Begin()
	os.Exit(m.Run())
}

// limit bounds each step; a lost wake-up makes a test reach it.
const limit = 30 * time.Second

type acquireFunc func(context.Context) (*herd.Lock, error)

// locks makes each exclusive lock of the package on a path below root.
func locks(t *testing.T, s *zklock.Session, root string) map[string]acquireFunc {
	t.Helper()
	named, err := herd.NewNamed(s, root+"/named", "goods-1001", 0)
	must(t, err)
	return map[string]acquireFunc{
		"single node": herd.NewSingleNode(s, root+"/single/lock").Acquire,
		"sequential":  herd.NewSequential(s, root+"/sequential").Acquire,
		"shared":      herd.NewShared(s, root+"/shared", "host-W-1").AcquireWrite,
		"named":       named.Acquire,
	}
}

func connect(t *testing.T) *zklock.Session {
	t.Helper()
	s, err := zklock.Connect(t.Context(), []string{zktest.Addr(t)})
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

func acquire(t *testing.T, ctx context.Context, f acquireFunc) *herd.Lock {
	t.Helper()
	lock, err := f(ctx)
	must(t, err)
	return lock
}

func release(t *testing.T, lock *herd.Lock) {
	t.Helper()
	if err := lock.Release(within(t)); err != nil {
		t.Error(err)
	}
}

// TestExclusion also covers fault I, as all contenders begin at once on a path that is not there,
// and fault J: of so many releases some fall between a waiter's look and its wait.
func TestExclusion(t *testing.T) {
	root := zktest.Root(t)
	sessions := []*zklock.Session{connect(t), connect(t)}
	for name := range locks(t, sessions[0], root) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const contenders, rounds = 6, 15
			var (
				inside  atomic.Int32
				counter int // guarded by the lock under test alone
				last    zklock.Token
				all     sync.WaitGroup
			)
			ctx := within(t)
			for i := range contenders {
				f := locks(t, sessions[i%len(sessions)], root)[name]
				all.Go(func() {
					for range rounds {
						lock, err := f(ctx)
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
						if err := lock.Release(ctx); err != nil {
							t.Errorf("release: %v", err)
						}
					}
				})
			}
			all.Wait()
			if counter != contenders*rounds {
				t.Errorf("%d of %d increments", counter, contenders*rounds)
			}
		})
	}
}

// TestFaultK: the waiter ahead gives up while the lock is held; the one behind it must look again
// and go on waiting.
func TestFaultK(t *testing.T) {
	s, root := connect(t), zktest.Root(t)
	for name, f := range locks(t, s, root) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queued := func(want int) {
				if name == "single node" {
					time.Sleep(150 * time.Millisecond) // nothing tells that one waits
				} else {
					awaitChildren(t, s, root+"/"+name, want)
				}
			}
			holder := acquire(t, within(t), f)
			impatient, giveUp := context.WithCancel(within(t))
			gaveUp := make(chan error, 1)
			go func() {
				_, err := f(impatient)
				gaveUp <- err
			}()
			queued(2)
			granted := make(chan *herd.Lock, 1)
			go func() {
				lock, err := f(within(t))
				if err != nil {
					t.Error(err)
				}
				granted <- lock
			}()
			queued(3)
			giveUp()
			if err := <-gaveUp; !errors.Is(err, context.Canceled) {
				t.Errorf("the one that gave up got %v", err)
			}
			queued(2)
			select {
			case <-granted:
				t.Fatal("the waiter took the lock because the one ahead of it had gone")
			case <-time.After(300 * time.Millisecond):
			}
			release(t, holder)
			release(t, <-granted)
		})
	}
}

// TestFaultL: a waiter that gives up leaves no node behind.
func TestFaultL(t *testing.T) {
	s := connect(t)
	root := zktest.Root(t)
	sequential := herd.NewSequential(s, root+"/sequential")
	shared := herd.NewShared(s, root+"/shared", "host")
	named, err := herd.NewNamed(s, root+"/named", "goods", 100*time.Millisecond)
	must(t, err)
	patient, err := herd.NewNamed(s, root+"/named", "goods", 0)
	must(t, err)
	single := herd.NewSingleNode(s, root+"/single/lock")
	for _, c := range []struct {
		name, path     string
		first, acquire acquireFunc
		wait           func()
	}{
		{"sequential", root + "/sequential", sequential.Acquire, sequential.Acquire, sequential.Wait},
		{"shared", root + "/shared", shared.AcquireWrite, shared.AcquireRead, shared.Wait},
		{"named", root + "/named", patient.Acquire, named.Acquire, named.Wait},
		{"single node", root + "/single", single.Acquire, single.Acquire, single.Wait},
	} {
		t.Run(c.name, func(t *testing.T) {
			holder := acquire(t, within(t), c.first)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if _, err := c.acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the waiter got %v", err)
			}
			release(t, holder)
			c.wait()
			if left, _, err := s.Conn().Children(c.path); err != nil || len(left) != 0 {
				t.Errorf("left behind: %q, %v", left, err)
			}
		})
	}
}

// TestFaultM: a holder whose session was lost releases late, and must not touch the next holder's node.
func TestFaultM(t *testing.T) {
	root := zktest.Root(t)
	for name := range locks(t, connect(t), root) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lost, err := zklock.Connect(t.Context(), []string{zktest.Addr(t)})
			must(t, err)
			stale := acquire(t, within(t), locks(t, lost, root)[name])
			if err := lost.Close(); err != nil { // the server removes its nodes, as at an expiry
				t.Fatal(err)
			}
			<-stale.Context().Done()
			if cause := context.Cause(stale.Context()); !errors.Is(cause, zklock.ErrLost) {
				t.Errorf("the lost handle's cause is %v", cause)
			}
			next := acquire(t, within(t), locks(t, connect(t), root)[name])
			if err := stale.Release(within(t)); err == nil {
				t.Error("the release of a lost lock returns no error")
			}
			select {
			case <-next.Context().Done():
				t.Error("the stale release took the next holder's lock")
			case <-time.After(200 * time.Millisecond):
			}
			release(t, next)
		})
	}
}

// TestLoss: a holder learns that its node was deleted.
func TestLoss(t *testing.T) {
	s := connect(t)
	root := zktest.Root(t)
	lock := acquire(t, within(t), herd.NewSequential(s, root+"/lock").Acquire)
	names, _, err := s.Conn().Children(root + "/lock")
	if err != nil || len(names) != 1 {
		t.Fatalf("children %q, %v", names, err)
	}
	must(t, s.Conn().Delete(root+"/lock/"+names[0], -1))
	<-lock.Context().Done()
	if cause := context.Cause(lock.Context()); !errors.Is(cause, zklock.ErrLost) {
		t.Errorf("cause %v", cause)
	}
	if err := lock.Release(within(t)); !errors.Is(err, zklock.ErrLost) {
		t.Errorf("release: %v", err)
	}
}

func TestReadersShare(t *testing.T) {
	s := connect(t)
	path := zktest.Root(t) + "/lock"
	m := herd.NewShared(s, path, "a-R-b")
	one, two := acquire(t, within(t), m.AcquireRead), acquire(t, within(t), m.AcquireRead)
	writing := make(chan *herd.Lock)
	go func() { writing <- acquireOrNil(within(t), m.AcquireWrite) }()
	awaitChildren(t, s, path, 3)
	release(t, one)
	select {
	case <-writing:
		t.Fatal("a writer beside a reader")
	case <-time.After(200 * time.Millisecond):
	}
	release(t, two)
	writer := <-writing
	reading := make(chan *herd.Lock)
	go func() { reading <- acquireOrNil(within(t), m.AcquireRead) }()
	awaitChildren(t, s, path, 2)
	select {
	case <-reading:
		t.Fatal("a reader beside a writer")
	case <-time.After(200 * time.Millisecond):
	}
	release(t, writer)
	release(t, <-reading)
}

func acquireOrNil(ctx context.Context, f acquireFunc) *herd.Lock {
	lock, _ := f(ctx) // a nil lock fails the test at its release
	return lock
}

// TestNames: locks of different names in one folder do not wait for each other, even if one
// name is the beginning of another.
func TestNames(t *testing.T) {
	s := connect(t)
	root := zktest.Root(t)
	var held []*herd.Lock
	for _, name := range []string{"a", "a_lock_b", "b", "a-0000000001"} {
		m, err := herd.NewNamed(s, root+"/locks", name, 5*time.Second)
		must(t, err)
		held = append(held, acquire(t, t.Context(), m.Acquire))
	}
	for _, lock := range held {
		release(t, lock)
	}
	for _, bad := range []string{"", "a/b"} {
		if _, err := herd.NewNamed(s, root, bad, 0); err == nil {
			t.Errorf("the name %q is taken", bad)
		}
	}
}

// TestHerd shows the herd effect: each release wakes all waiters, except with the named locks.
func TestHerd(t *testing.T) {
	s := connect(t)
	const waiters = 12
	type lock interface {
		Acquire(ctx context.Context) (*herd.Lock, error)
		Wakeups() int64
	}
	for name, c := range map[string]struct {
		want int64
		lock func(path string) lock
	}{
		"single node": {waiters, func(path string) lock { return herd.NewSingleNode(s, path) }},
		// Arrivals wake waiters, too; they are over before the release, which wakes all.
		"sequential": {waiters, func(path string) lock { return herd.NewSequential(s, path) }},
		"named": {1, func(path string) lock {
			m, err := herd.NewNamed(s, path, "goods", 0)
			must(t, err)
			return m
		}},
	} {
		t.Run(name, func(t *testing.T) {
			once := func() int64 {
				m := c.lock(zktest.Root(t) + "/lock")
				holder := acquire(t, within(t), m.Acquire)
				ctx, cancel := context.WithCancel(t.Context())
				var all sync.WaitGroup
				defer all.Wait()
				defer cancel()
				granted := make(chan struct{}, waiters)
				for range waiters {
					all.Go(func() {
						lock, err := m.Acquire(ctx)
						if err != nil {
							return
						}
						granted <- struct{}{}
						<-ctx.Done()
						_ = lock.Release(context.WithoutCancel(ctx)) // the root is deleted in the end
					})
				}
				settle(m.Wakeups)
				before := m.Wakeups()
				release(t, holder)
				<-granted
				for end := time.Now().Add(5 * time.Second); m.Wakeups()-before < c.want && time.Now().Before(end); {
					time.Sleep(5 * time.Millisecond)
				}
				settle(m.Wakeups) // there are no more of them
				return m.Wakeups() - before
			}
			n := once()
			for try := 1; n != c.want && try < 5; try++ { // on a busy machine some are not there yet at the release
				n = once()
			}
			if n != c.want {
				t.Errorf("one release woke %d of %d waiters, want %d", n, waiters, c.want)
			}
		})
	}
}

// awaitChildren waits until the node, which exists, has the wanted number of children.
func awaitChildren(t *testing.T, s *zklock.Session, path string, want int) {
	t.Helper()
	for deadline := time.After(limit); ; {
		names, _, events, err := s.Conn().ChildrenW(path)
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

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
