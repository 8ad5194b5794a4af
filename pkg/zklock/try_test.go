package zklock_test

import (
	"errors"
	"testing"
	"time"

	"orderstock/pkg/zklock"
	"orderstock/pkg/zklock/internal/zktest"
)

// With a linger of zero the lock is free for all processes when Release has returned.
func TestTryAfterReleaseWithoutLinger(t *testing.T) {
	path := zktest.Root(t) + "/lock"
	s, other := connect(t), connect(t)
	refused := 0
	for range 50 {
		for _, next := range []*zklock.Session{s, other, s} {
			release(t, acquire(t, zklock.NewMutex(s, path, zklock.WithLinger(0))))
			lock, err := zklock.NewMutex(next, path, zklock.WithLinger(0)).TryAcquire(t.Context())
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

// tryUntil tries until it gets the lock, and returns how often it was refused.
func tryUntil(t *testing.T, m *zklock.Mutex) (lock *zklock.Lock, refused int) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		lock, err := m.TryAcquire(t.Context())
		if err == nil {
			return lock, refused
		}
		if !errors.Is(err, zklock.ErrNotAcquired) {
			t.Fatal(err)
		}
		refused++
	}
	t.Fatalf("%d tries of a lock that nobody held were refused", refused)
	return nil, 0
}

// A try makes a process that lingers give the lock up, although no other queues.
func TestTryEndsAnothersLinger(t *testing.T) {
	for name, opts := range map[string][]zklock.Option{"hand-off": nil, "no hand-off": {zklock.WithHandoff(1, 0)}} {
		t.Run(name, func(t *testing.T) {
			path := zktest.Root(t) + "/lock"
			s, other := connect(t), connect(t)
			lingering := zklock.NewMutex(s, path, zklock.WithLinger(time.Hour))
			asking := zklock.NewMutex(other, path, opts...)
			release(t, acquire(t, lingering))
			lock, refused := tryUntil(t, asking)
			t.Logf("refused %d times", refused)
			release(t, lock)

			// A try while the lock is held is refused, and the holder's process does not linger after that.
			held := acquire(t, lingering)
			wantErr(t, errorOf(asking.TryAcquire(t.Context())), zklock.ErrNotAcquired, "try of a held lock")
			if err := held.Context().Err(); err != nil {
				t.Error("a try ended the holder's lock")
			}
			release(t, held)
			lock, _ = tryUntil(t, asking)
			release(t, lock)
			awaitChildren(t, other.Conn(), path, 0)
		})
	}
}

// Tries of a held lock read, and only the first one writes: a notice for the holder's process.
func TestTriesWriteOnce(t *testing.T) {
	const tries = 100
	path := zktest.Root(t) + "/lock"
	s, l := dialLink(t)
	other := connect(t)
	try := func(m *zklock.Mutex) {
		t.Helper()
		for range tries {
			if _, err := m.TryAcquire(t.Context()); !errors.Is(err, zklock.ErrNotAcquired) {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
	}
	for name, m := range kindsOfMutex(s, path) {
		for round := range 2 { // a new holder is told again
			held := acquire(t, zklock.NewMutex(other, m.Path(), zklock.WithLinger(0)))
			before := l.requests(opMulti) + l.requests(opCreate)
			try(m)
			if n := l.requests(opMulti) + l.requests(opCreate) - before; n != 1 {
				t.Errorf("%s: %d writes for %d tries of holder %d, want 1", name, n, tries, round)
			}
			release(t, held)
		}
	}
}

// A notice that comes before the holder's process watches the queue is not overlooked.
func TestTryBeforeTheHolderLooks(t *testing.T) {
	path := zktest.Root(t) + "/lock"
	s, l := dialLink(t)
	other := connect(t)
	asking := zklock.NewMutex(other, path)
	release(t, acquire(t, zklock.NewMutex(other, path, zklock.WithLinger(0)))) // the parent is there
	l.mu.Lock()
	looks, looked := 0, make(chan struct{})
	l.onRequest = func(op int32) bool {
		if op != opChildren {
			return false
		}
		if looks++; looks < 2 { // the first is before the grant
			return false
		}
		l.onRequest = nil
		defer close(looked)
		_, before, err := other.Conn().Exists(path)
		if err != nil {
			t.Error(err)
			return false
		}
		wantErr(t, errorOf(asking.TryAcquire(t.Context())), zklock.ErrNotAcquired, "try of a held lock")
		for end := time.Now().Add(patience); time.Now().Before(end); { // until the notice was made
			if _, now, err := other.Conn().Exists(path); err != nil || now.Pzxid > before.Pzxid {
				return false
			}
		}
		t.Error("no notice was made")
		return false
	}
	l.mu.Unlock()
	release(t, acquire(t, zklock.NewMutex(s, path, zklock.WithLinger(time.Hour))))
	await(t, looked, "the look of the holder's process at the queue")
	lock, _ := tryUntil(t, asking)
	release(t, lock)
}
