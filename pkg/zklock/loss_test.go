package zklock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"orderstock/pkg/zklock"
	"orderstock/pkg/zklock/zklocktest"
)

// A session that ends while it holds many locks tells all holders in time, and what comes next is not held up
// by what is left to do.
func TestSessionEndsWithManyLocks(t *testing.T) {
	const (
		locks   = 20_000
		timeout = 4 * time.Second
		limit   = time.Second
	)
	for name, opts := range map[string][]zklock.Option{
		"hand-off":    nil,
		"no hand-off": {zklock.WithHandoff(1, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			session, link := zklocktest.NewSession(t, zklock.WithSessionTimeout(timeout))
			for _, end := range []struct {
				name  string
				after time.Duration // until the session is over
				begin func()
				heal  func()
			}{
				{"expired", 0, link.Expire, func() {}},
				{"cut off", timeout, link.Disconnect, link.Reconnect},
			} {
				told := holdMany(t, session, "/locks/"+end.name, locks, opts)
				began := time.Now()
				end.begin()
				last := told()
				if d := last.Sub(began); d > end.after+limit {
					t.Errorf("%s: the last holder was told after %s", end.name, d)
				} else {
					t.Logf("%s: the last holder was told after %s", end.name, d)
				}
				end.heal()
				healed := time.Now()
				release(t, acquire(t, zklock.NewMutex(session, "/locks/next", opts...)))
				if d := time.Since(healed); d > 2*limit { // the client library waits for a second
					t.Errorf("%s: the next acquisition took %s", end.name, d)
				} else {
					t.Logf("%s: the next acquisition took %s", end.name, d)
				}
			}
		})
	}
}

// holdMany acquires locks below path, each with a holder that waits for its loss, and returns a function that
// returns the time at which the last one was told.
func holdMany(t *testing.T, s *zklock.Session, path string, locks int, opts []zklock.Option) (told func() time.Time) {
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
