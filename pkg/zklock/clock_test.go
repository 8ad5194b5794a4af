package zklock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"orderstock/pkg/zklock"
)

// A process that was paused past its session goes on in the middle of a release. No event has informed it
// of the loss yet: only the local clock shows it. The lock must not be handed on, and the release must
// fail.
func TestPauseIsSeenByTheClockAlone(t *testing.T) {
	s := connect(t, zklock.WithSessionTimeout(20*time.Second))
	m := zklock.NewMutex(s, newRoot(t)+"/lock")
	paused := acquire(t, m)
	next := begin(t.Context(), m)
	eventually(t, "another waits", func() bool { return zklock.Waiting(s, m.Path()) > 0 })

	resume := zklock.Pause(s)
	if paused.Context().Err() != nil {
		t.Fatal("told of the loss before the release")
	}
	wantErr(t, paused.Release(t.Context()), zklock.ErrLost, "release after the pause")
	select {
	case <-next.done:
		t.Errorf("handed on after %v", paused.Token())
		return
	case <-time.After(50 * time.Millisecond): // far more than a hand-over takes
	}
	resume()
	lock := next.wait(t)
	if lock.Token().Czxid <= paused.Token().Czxid {
		t.Errorf("token %v after %v: not of a new place in the queue", lock.Token(), paused.Token())
	}
	release(t, lock)
}

// After such a pause, a release of any kind of lock says that the lock was lost.
func TestPauseIsSeenByEachKind(t *testing.T) {
	s := connect(t, zklock.WithSessionTimeout(20*time.Second))
	dir := newRoot(t)
	ctx := zklock.WithOwner(t.Context())
	after := func(name string, release func(context.Context) error) {
		t.Helper()
		resume := zklock.Pause(s)
		defer resume()
		wantErr(t, release(t.Context()), zklock.ErrLost, name+": release after the pause")
	}
	for name, m := range lockers(s, dir) {
		after(name, acquireWith(t, ctx, m).Release)
	}
	multi, err := zklock.NewMulti(zklock.NewMutex(s, dir+"/one"), zklock.NewRWMutex(s, dir+"/two").Writer()).Acquire(ctx)
	must(t, err)
	after("multi", multi.Release)
	reentrant := zklock.NewReentrantMutex(s, dir+"/again")
	outer := acquireWith(t, ctx, reentrant)
	after("an entry again", func(context.Context) error { return errorOf(reentrant.Acquire(ctx)) })
	after("try to enter again", func(context.Context) error { return errorOf(reentrant.TryAcquire(ctx)) })
	after("reentrant", outer.Release)
	err = zklock.Do(ctx, zklock.NewMutex(s, dir+"/do", zklock.WithHandoff(1, 0)),
		func(context.Context, *zklock.Lock) error {
			time.AfterFunc(50*time.Millisecond, zklock.Pause(s))
			return nil
		})
	if !errors.Is(err, zklock.ErrLost) {
		t.Errorf("Do after the pause: %v", err)
	}
}
