package zklock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"orderstock/pkg/zklock"
)

// A session that ends while it holds many locks ends all handles in time, and what comes next is not held up
// by what is left to do.
// It takes 11 s: two sessions with a timeout of 4 s end, with thousands of locks.
func TestSessionEndsWithManyLocks(t *testing.T) {
	const (
		timeout = 4 * time.Second
		limit   = 10 * time.Second // a second on a machine that does nothing else
		locks   = 4000
	)
	for name, opts := range map[string][]zklock.MutexOption{
		"hand-off":    nil,
		"no hand-off": {zklock.WithHandoff(1, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			session, l := dialLink(t, zklock.WithSessionTimeout(timeout))
			root := newRoot(t)
			for _, end := range []struct {
				name  string
				after time.Duration // until the session is over
				begin func()
				heal  func()
			}{
				{"expired", 0, func() { l.expire(t) }, func() {}},
				{"cut off", timeout, l.silence, l.restore},
			} {
				told := holdMany(t, session, root+"/"+end.name, locks, opts)
				began := time.Now()
				end.begin()
				last := told()
				end.heal()
				healed := time.Now()
				release(t, acquire(t, zklock.NewMutex(session, root+"/next", opts...)))
				all, next := last.Sub(began), time.Since(healed)
				t.Logf("%s: %d holders were told within %s; the next acquisition took %s", end.name, locks, all, next)
				if all > end.after+limit || next > limit {
					t.Errorf("%s: more than %s", end.name, limit)
				}
				removePaths(session, root+"/"+end.name, locks)
			}
		})
	}
}

// Nodes that the server has removed with their session are not deleted again: thousands of such requests would
// hold up the next session's first.
func TestNodesOfAnExpiredSessionAreLeftToTheServer(t *testing.T) {
	t.Parallel()
	s, l := dialLink(t)
	told := holdMany(t, s, newRoot(t), 400, []zklock.MutexOption{zklock.WithHandoff(1, 0)})
	before := l.requests(opDelete)
	l.expire(t)
	told()
	lock := acquire(t, zklock.NewMutex(s, newRoot(t)+"/next", zklock.WithHandoff(1, 0)))
	if n := l.requests(opDelete) - before; n > 0 {
		t.Errorf("%d nodes were deleted again", n)
	}
	release(t, lock)
}

// removePaths deletes the paths of holdMany, many at once: the root's cleanup would take long.
func removePaths(s *zklock.Session, path string, locks int) {
	var all sync.WaitGroup
	for k := range locks {
		all.Go(func() { _ = s.Conn().Delete(fmt.Sprintf("%s/%d", path, k), -1) }) // the cleanup deletes what is left
	}
	all.Wait()
}

// holdMany acquires locks below path, each with a holder that waits for its loss, and returns a function that
// returns the time at which the last one was told.
func holdMany(
	t *testing.T, s *zklock.Session, path string, locks int, opts []zklock.MutexOption,
) (told func() time.Time) {
	t.Helper()
	var acquired, holding sync.WaitGroup
	const atOnce = 200
	times := make([]time.Time, locks)
	for i := range atOnce {
		acquired.Go(func() {
			for k := i; k < locks; k += atOnce {
				lock, err := zklock.NewMutex(s, fmt.Sprintf("%s/%d", path, k), opts...).Acquire(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				holding.Go(func() {
					<-lock.Context().Done()
					times[k] = time.Now()
					_ = lock.Release(context.Background()) // lost
				})
			}
		})
	}
	acquired.Wait()
	return func() (last time.Time) {
		holding.Wait()
		for _, at := range times {
			if at.After(last) {
				last = at
			}
		}
		return last
	}
}
