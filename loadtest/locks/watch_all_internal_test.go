package locks

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/zklock"
)

// watchAllLocks returns locks on one path, each in another session, and the number of their wake-ups.
func watchAllLocks(t *testing.T, n int) (locks []*watchAll, woken *atomic.Int64) {
	t.Helper()
	woken = new(atomic.Int64)
	queue := serverstest.ZooKeeperRoot(t) + "/queue"
	for range n {
		session, err := zklock.Connect(t.Context(), []string{serverstest.ZooKeeper(t).Addr()}, quiet)
		serverstest.Must(t, err)
		t.Cleanup(func() { serverstest.Must(t, session.Close()) })
		lock, err := newWatchAll(session.Conn(), queue, session.ACL(), func() { woken.Add(1) })
		serverstest.Must(t, err)
		locks = append(locks, lock)
	}
	return locks, woken
}

// queued waits until the lock's queue has n nodes.
func (w *watchAll) queued(t *testing.T, n int) {
	t.Helper()
	for deadline := time.After(time.Minute); ; {
		names, _, changed, err := w.conn.ChildrenW(w.queue)
		serverstest.Must(t, err)
		if len(names) == n {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("the queue has %d nodes, want %d", len(names), n)
		}
	}
}

func TestWatchAllExcludes(t *testing.T) {
	const contenders, rounds = 6, 15
	locks, _ := watchAllLocks(t, 2)
	var (
		inside  atomic.Int32
		counter int // guarded by the lock alone
		all     sync.WaitGroup
	)
	for i := range contenders {
		all.Go(func() {
			for range rounds {
				release, err := locks[i%len(locks)].acquire(t.Context())
				if err != nil {
					t.Errorf("acquire: %v", err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two hold the lock")
				}
				counter++
				inside.Add(-1)
				if err := release(t.Context()); err != nil {
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

// The herd: one release wakes all waiters, of which one has the lock then. A waiter that gives up leaves no node (fault
// L), and those behind it wait on (fault K).
func TestWatchAllWakesAll(t *testing.T) {
	const waiters = 50
	n := wokenByRelease(t, waiters)
	for try := 1; n != waiters && try < 5; try++ { // on a busy machine some do not watch yet at the release
		n = wokenByRelease(t, waiters)
	}
	if n != waiters {
		t.Errorf("one release woke %d of %d waiters", n, waiters)
	}
}

// wokenByRelease returns how many waiters one release wakes.
func wokenByRelease(t *testing.T, waiters int) int64 {
	t.Helper()
	locks, woken := watchAllLocks(t, 1)
	lock := locks[0]
	release, err := lock.acquire(t.Context())
	serverstest.Must(t, err)
	wait := func(ctx context.Context, granted chan<- error) {
		release, err := lock.acquire(ctx)
		granted <- err
		if err == nil {
			<-ctx.Done()
			err = release(context.WithoutCancel(ctx))
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	impatient, giveUp := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go wait(impatient, gaveUp)
	lock.queued(t, 2)
	ctx, cancel := context.WithCancel(t.Context())
	granted := make(chan error, waiters)
	var all sync.WaitGroup
	for range waiters {
		all.Go(func() { wait(ctx, granted) })
	}
	lock.queued(t, 2+waiters)
	giveUp()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("the waiter that gave up got %v", err)
	}
	lock.queued(t, 1+waiters)
	settled := func() (n int64) { // arrivals and the one that left wake waiters, too
		for n = -1; n != woken.Load(); time.Sleep(300 * time.Millisecond) {
			n = woken.Load()
		}
		return n
	}
	before := settled()
	select {
	case err := <-granted:
		t.Fatalf("a waiter ended while the lock was held: %v", err)
	default:
	}
	serverstest.Must(t, release(t.Context()))
	serverstest.Must(t, <-granted)
	n := settled() - before
	cancel()
	all.Wait()
	lock.queued(t, 0)
	return n
}
