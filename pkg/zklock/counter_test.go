package zklock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/pkg/zklock"
)

// Near 2147483647 the server's counter of a node's children ends: it stays where it is, or jumps to negative numbers
// and back while creates are under way. Numbers no longer show who came first, so acquisitions are refused before.
// It takes more than 10 s: a server starts twice, and Java compiles a program in between.
func TestCounterAtItsEnd(t *testing.T) {
	t.Parallel()
	const numbersLeft = 1024 + 20 // the last 1024 are not used
	type acquireFunc = func(context.Context) (*zklock.Lock, error)
	locks := map[string]func(s *zklock.Session, path string) acquireFunc{
		"/mutex": func(s *zklock.Session, path string) acquireFunc {
			return zklock.NewMutex(s, path, zklock.WithHandoff(1, 0)).Acquire
		},
		"/hand-off":  func(s *zklock.Session, path string) acquireFunc { return zklock.NewMutex(s, path).Acquire },
		"/writers":   func(s *zklock.Session, path string) acquireFunc { return zklock.NewRWMutex(s, path).Writer().Acquire },
		"/semaphore": func(s *zklock.Session, path string) acquireFunc { return zklock.NewSemaphore(s, path, 1).Acquire },
	}
	addr := startNearEnd(t, numbersLeft,
		"/mutex", "/hand-off", "/writers", "/semaphore", "/semaphore/leases", "/semaphore/locks").addr
	for path, lock := range locks {
		t.Run(path[1:], func(t *testing.T) {
			t.Parallel()
			var acquired, inside, overlaps atomic.Int64
			ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
			defer cancel()
			var all sync.WaitGroup
			for range 3 {
				acquire := lock(connectTo(t, addr), path)
				all.Go(func() {
					for {
						lock, err := acquire(ctx)
						if err != nil {
							wantErr(t, err, zklock.ErrUsedUp, "an acquisition at the end of the counter")
							if errors.Is(err, zklock.ErrNotAcquired) {
								t.Error("the error says that somebody has the lock")
							}
							return
						}
						acquired.Add(1)
						if inside.Add(1) > 1 {
							overlaps.Add(1)
						}
						time.Sleep(time.Millisecond) // the work
						inside.Add(-1)
						if err := lock.Release(ctx); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			if n := acquired.Load(); n == 0 || overlaps.Load() > 0 {
				t.Errorf("%d acquisitions, %d of them while another one held", n, overlaps.Load())
			}
		})
	}
}
