package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

// Ten thousand contexts end at random moments of an acquisition: no node, no watch and no goroutine
// may be left. TestMain looks for goroutines.
func TestCancelledAtRandomMoments(t *testing.T) {
	const (
		workers = 20
		each    = 250
	)
	dir := newRoot(t)
	s := connect(t)
	other := connect(t)
	locks := map[string]acquirer{
		"/cohort": zklock.NewMutex(s, dir+"/cohort"),
		"/plain":  zklock.NewMutex(s, dir+"/plain", zklock.WithHandoff(1, 0)),
	}
	for name, m := range locks {
		var (
			all      sync.WaitGroup
			mu       sync.Mutex
			acquired int
		)
		for range workers {
			all.Go(func() {
				for i := range each {
					limit := rand.N(time.Millisecond << rand.N(7))
					if i%25 == 0 {
						limit = patience // so that some succeed, even on the slowest machine
					}
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					lock, err := m.Acquire(ctx)
					switch {
					case err == nil:
						mu.Lock()
						acquired++
						mu.Unlock()
						if err := lock.Release(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
							t.Error(err)
						}
					case !errors.Is(err, context.DeadlineExceeded),
						errors.Is(err, zklock.ErrNotAcquired) == errors.Is(err, zklock.ErrNoAnswer):
						t.Error(err)
					}
					cancel()
				}
			})
		}
		all.Wait()
		awaitChildren(t, other.Conn(), dir+name, 0)
		t.Logf("%s: %d of %d acquired", name, acquired, workers*each)
		if acquired == 0 || acquired == workers*each {
			t.Errorf("%s: %d of %d acquired: the moments were not random", name, acquired, workers*each)
		}
	}
	awaitNoWatches(t, s, dir)
}

// The server removes a container only if it has had a child: acquisitions that are cancelled while they make the
// path leave none that has not.
func TestCancelledAcquisitionsLeaveNoPaths(t *testing.T) {
	const each = 300
	s, dir := connect(t), newRoot(t)
	for name, lock := range map[string]func(path string) zklock.Locker{
		"plain":     func(path string) zklock.Locker { return zklock.NewMutex(s, path, zklock.WithHandoff(1, 0)) },
		"cohort":    func(path string) zklock.Locker { return zklock.NewMutex(s, path) },
		"semaphore": func(path string) zklock.Locker { return zklock.NewSemaphore(s, path, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all sync.WaitGroup
			for i := range each {
				path := fmt.Sprintf("%s/%s-%d/a", dir, name, i)
				all.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), rand.N(60*time.Millisecond))
					defer cancel()
					if lock, err := lock(path).Acquire(ctx); err == nil {
						_ = lock.Release(ctx) // may meet the end of ctx
					}
				})
				time.Sleep(rand.N(time.Millisecond))
			}
			all.Wait()
			eventually(t, "no container is left that has never had a child", func() bool {
				return len(unused(t, s, dir)) == 0
			})
		})
	}
}

// unused returns the nodes below dir that can have children and have never had one.
func unused(t *testing.T, s *zklock.Session, dir string) (nodes []string) {
	t.Helper()
	names, stat, err := s.Conn().Children(dir)
	if errors.Is(err, zk.ErrNoNode) {
		return nil // it has gone since
	}
	must(t, err)
	switch {
	case stat.EphemeralOwner > 0: // that of a container is negative
		return nil
	case stat.Cversion == 0:
		return []string{dir}
	}
	for _, name := range names {
		nodes = append(nodes, unused(t, s, dir+"/"+name)...)
	}
	return nodes
}

// awaitNoWatches waits until the server has no watch for the session below the path.
func awaitNoWatches(t *testing.T, s *zklock.Session, dir string) {
	t.Helper()
	eventually(t, "the session has no watches", func() bool {
		watches, err := command(zookeeper(t), "wchp") // by path
		must(t, err)
		return !watchedBelow(watches, dir, s.ID())
	})
}

// watchedBelow reads the server's list: a line for each path, with an indented one for each session.
func watchedBelow(watches, dir string, session int64) bool {
	below := false
	for line := range strings.Lines(watches) {
		if strings.HasPrefix(line, "/") {
			below = strings.HasPrefix(line, dir)
		} else if below && strings.TrimSpace(line) == fmt.Sprintf("0x%x", session) {
			return true
		}
	}
	return false
}
