package zklock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/zklock"
)

func TestMutexExcludes(t *testing.T) {
	for name, opts := range map[string][]zklock.Option{
		"handoff":    nil,
		"no handoff": {zklock.WithHandoff(1, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			path := serverstest.ZooKeeperRoot(t) + "/a/b"
			sessions := []*zklock.Session{connect(t), connect(t)}
			var (
				all     sync.WaitGroup
				mu      sync.Mutex
				last    zklock.Token
				holders int
			)
			for i := range 20 {
				all.Go(func() {
					m := zklock.NewMutex(sessions[i%2], path, opts...)
					for range 10 {
						lock, err := m.Acquire(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						if holders++; holders > 1 {
							t.Errorf("%d holders", holders)
						}
						if !last.Less(lock.Token()) {
							t.Errorf("token %v after %v", lock.Token(), last)
						}
						last = lock.Token()
						mu.Unlock()
						time.Sleep(10 * time.Microsecond)
						mu.Lock()
						holders--
						mu.Unlock()
						if err := lock.Release(t.Context()); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
		})
	}
}

func TestTryAcquire(t *testing.T) {
	path := serverstest.ZooKeeperRoot(t) + "/lock"
	a := zklock.NewMutex(connect(t), path)
	b := zklock.NewMutex(connect(t), path)
	lock, err := a.TryAcquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.TryAcquire(t.Context()); !errors.Is(err, zklock.ErrNotAcquired) {
		t.Errorf("try of a held lock: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Acquire(ctx); !errors.Is(err, zklock.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("timed acquire of a held lock: %v", err)
	}
	if err := lock.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := lock.Release(t.Context()); !errors.Is(err, zklock.ErrReleased) {
		t.Errorf("second release: %v", err)
	}
}
