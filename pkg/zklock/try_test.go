package zklock_test

import (
	"errors"
	"testing"

	"orderstock/pkg/zklock"
)

// The lock is free for all processes when Release has returned.
func TestTryAfterRelease(t *testing.T) {
	path := newRoot(t) + "/lock"
	s, other := connect(t), connect(t)
	refused := 0
	for range 50 {
		for _, next := range []*zklock.Session{s, other, s} {
			release(t, acquire(t, zklock.NewMutex(s, path)))
			lock, err := zklock.NewMutex(next, path).TryAcquire(t.Context())
			if err != nil {
				refused++
				if !errors.Is(err, zklock.ErrNotAcquired) {
					t.Fatal(err)
				}
				continue
			}
			release(t, lock)
		}
	}
	if refused > 0 {
		t.Errorf("%d of 150 tries of a lock that nobody held were refused", refused)
	}
}

// A handle that was lost, and is not released yet, keeps nobody in the process from the lock.
func TestTryAfterLoss(t *testing.T) {
	s, path := connect(t), newRoot(t)+"/lock"
	m := zklock.NewMutex(s, path)
	lost := acquire(t, m)
	must(t, s.Conn().Delete(path+"/"+awaitChildren(t, s.Conn(), path, 1)[0], -1))
	await(t, lost.Context().Done(), "the loss")
	for range 2 {
		next, err := m.TryAcquire(t.Context())
		must(t, err)
		release(t, next)
		release(t, acquire(t, m))
	}
	wantErr(t, lost.Release(t.Context()), zklock.ErrLost, "release of a lost lock")
}
