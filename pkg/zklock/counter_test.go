package zklock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/pkg/zklock"
	"orderstock/pkg/zklock/internal/zktest"
)

// numbersLeft is the count of children that the parents of the test's locks can number before the
// server's counter is at its end.
const numbersLeft = 100

// TestCounterAtItsEnd: at 2147483647 ZooKeeper's counter of a node's children stays where it is, or
// jumps to negative numbers and back while creates are under way, so that numbers and names no
// longer show which contender came first.
// It takes more than 10 s: a server starts twice, and Java compiles a program in between.
func TestCounterAtItsEnd(t *testing.T) {
	t.Parallel()
	acquisitions := int64(1200)
	if testing.Short() {
		acquisitions = 2 * numbersLeft
	}
	locks := map[string]func(s *zklock.Session, path string) func(context.Context) (*zklock.Lock, error){
		"/mutex": func(s *zklock.Session, path string) func(context.Context) (*zklock.Lock, error) {
			return zklock.NewMutex(s, path, zklock.WithHandoff(1, 0)).Acquire
		},
		"/hand-off": func(s *zklock.Session, path string) func(context.Context) (*zklock.Lock, error) {
			return zklock.NewMutex(s, path, zklock.WithHandoff(2, time.Minute), zklock.WithLinger(time.Millisecond)).Acquire
		},
		"/writers": func(s *zklock.Session, path string) func(context.Context) (*zklock.Lock, error) {
			return zklock.NewRWMutex(s, path).Lock
		},
		"/semaphore": func(s *zklock.Session, path string) func(context.Context) (*zklock.Lock, error) {
			return zklock.NewSemaphore(s, path, 1).Acquire
		},
	}
	parents := []string{"/mutex", "/hand-off", "/writers", "/semaphore", "/semaphore/leases", "/semaphore/locks"}
	addr := zktest.StartNearEnd(t, numbersLeft, append(parents, "/downgrade")...).Addr
	t.Run("downgrade", func(t *testing.T) { t.Parallel(); downgradeNearTheEnd(t, addr, "/downgrade") })
	for path, lock := range locks {
		t.Run(path[1:], func(t *testing.T) {
			t.Parallel()
			var acquired, inside, overlaps atomic.Int64
			ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
			defer cancel()
			slow := time.Now().Add(45 * time.Second) // then it is enough that the counter is at its end
			var all sync.WaitGroup
			for range 4 {
				s := connectTo(t, addr)
				for range 4 {
					acquire := lock(s, path)
					all.Go(func() {
						for n := acquired.Add(1); n <= acquisitions; n = acquired.Add(1) {
							if n > 2*numbersLeft && time.Now().After(slow) {
								return
							}
							lock, err := acquire(ctx)
							if err != nil {
								t.Error(err)
								return
							}
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
			}
			all.Wait()
			if n := overlaps.Load(); n > 0 {
				t.Errorf("%d acquisitions of %d while another one held", n, acquired.Load())
			}
		})
	}
}
