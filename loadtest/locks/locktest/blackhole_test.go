package locktest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/zklock"
)

// TestBlackhole swallows all packets of a holder and of a waiter for thirty seconds, with the
// connections open. The holder must know in time that it may have lost the lock: before the
// server gives it to the next. Afterwards the same session goes on.
// It takes 12 s in short mode: two session timeouts, in place of five.
func TestBlackhole(t *testing.T) {
	t.Parallel()
	const timeout = 6 * time.Second
	path := serverstest.ZooKeeperRoot(t) + "/lock"
	p := newProxy(t, serverstest.ZooKeeper(t).Addr())
	swallowed := connect(t, timeout, p.servers()...)
	other := direct(t)
	holder := acquire(t, plain(swallowed, path), soon)
	waiting := make(chan *zklock.Lock, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		lock, err := plain(swallowed, path).Acquire(ctx) // over the loss of its session
		if err != nil {
			t.Errorf("the waiter in the hole: %v", err)
		}
		waiting <- lock
	}()
	awaitChildren(t, other, path, 2, soon)

	begin := time.Now()
	p.blackhole(t)
	told := make(chan time.Time, 1)
	go func() {
		<-holder.Context().Done()
		told <- time.Now()
	}()
	next := acquire(t, plain(other, path), 4*timeout)
	late, granted := holder.Valid(), time.Now() // by the clock, as a busy machine may end the context late
	var knew time.Time
	select {
	case knew = <-told:
	case <-time.After(timeout):
		t.Fatal("the holder does not learn of its loss while the hole lasts")
	}
	t.Logf("the holder knew after %s, the next one held after %s",
		knew.Sub(begin).Round(time.Millisecond), granted.Sub(begin).Round(time.Millisecond))
	if late {
		t.Error("the next one held before the holder knew of its loss")
	}
	if cause := context.Cause(holder.Context()); !errors.Is(cause, zklock.ErrLost) {
		t.Errorf("the cause is %v", cause)
	}
	if holder.Token().Compare(next.Token()) >= 0 {
		t.Errorf("token %s after %s", next.Token(), holder.Token())
	}
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := holder.Release(short); !errors.Is(err, zklock.ErrLost) {
		t.Errorf("release of the lost lock: %v", err)
	}
	hole := 5 * timeout // the fault's length is tested, too
	if testing.Short() {
		hole = 2 * timeout
	}
	time.Sleep(hole - time.Since(begin))
	select {
	case <-waiting:
		t.Error("the waiter was granted the lock in the hole")
	default:
	}
	p.heal(t)
	release(t, next)
	lock := <-waiting
	if lock == nil {
		t.FailNow()
	}
	checkExcluded(t, plain(other, path))
	release(t, lock)
	awaitChildren(t, other, path, 0, 2*timeout)
}

// TestLatency: slow answers cost time and nothing else.
func TestLatency(t *testing.T) {
	t.Parallel()
	path := serverstest.ZooKeeperRoot(t) + "/lock"
	p := newProxy(t, serverstest.ZooKeeper(t).Addr())
	p.delay(t, 60)
	sessions := []*zklock.Session{connect(t, 10*time.Second, p.servers()...), direct(t)}
	counter := 0
	var all sync.WaitGroup
	const contenders, rounds = 6, 5
	for i := range contenders {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			m := plain(sessions[i%2], path)
			for range rounds {
				lock, err := m.Acquire(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				counter++ // the race detector looks on
				if err := lock.Release(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if counter != contenders*rounds {
		t.Errorf("%d of %d increments", counter, contenders*rounds)
	}
	awaitChildren(t, sessions[1], path, 0, soon)
}
