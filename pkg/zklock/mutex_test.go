package zklock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

func TestMutexExcludes(t *testing.T) {
	for name, opts := range map[string][]zklock.MutexOption{
		"handoff":    nil,
		"no handoff": {zklock.WithHandoff(1, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			path := newRoot(t) + "/a/b"
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
						check(t, lock.Release(t.Context()))
					}
				})
			}
			all.Wait()
		})
	}
}

func TestTryAcquire(t *testing.T) {
	path := newRoot(t) + "/lock"
	a := zklock.NewMutex(connect(t), path)
	b := zklock.NewMutex(connect(t), path)
	lock, err := a.TryAcquire(t.Context())
	must(t, err)
	wantErr(t, errorOf(b.TryAcquire(t.Context())), zklock.ErrNotAcquired, "try of a held lock")
	if err := inVain(t, b.Acquire); !errors.Is(err, zklock.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("timed acquire of a held lock: %v", err)
	}
	check(t, lock.Release(t.Context()))
	wantErr(t, lock.Release(t.Context()), zklock.ErrReleased, "second release")
}

func TestNamesAreChecked(t *testing.T) {
	t.Parallel()
	s, root := connect(t), newRoot(t)
	for _, names := range [][]string{{""}, {"a/b"}, {"lock-", ""}} {
		m := zklock.NewMutex(s, root+"/lock", zklock.WithNames(names[0], names[1:]...))
		if _, err := m.Acquire(t.Context()); err == nil || !strings.Contains(err.Error(), "give WithNames another") {
			t.Errorf("with the names %q: %v", names, err)
		}
	}
	if exists, _, err := s.Conn().Exists(root + "/lock"); exists || err != nil {
		t.Errorf("something was made: %v, %v", exists, err)
	}
}

// TestForeignNamesExclude: a node with a further name, first in the queue, keeps the lock.
func TestForeignNamesExclude(t *testing.T) {
	t.Parallel()
	s, path := connect(t), newRoot(t)
	foreign, err := s.Conn().Create(path+"/x-other-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	must(t, err)
	release(t, acquire(t, zklock.NewMutex(s, path)))
	m := zklock.NewMutex(s, path, zklock.WithNames("own-", "other-"), zklock.WithHandoff(1, 0))
	wantErr(t, errorOf(m.TryAcquire(t.Context())), zklock.ErrNotAcquired, "beside a node with a further name")
	must(t, s.Conn().Delete(foreign, -1))
	lock := acquire(t, m)
	names, _, err := s.Conn().Children(path)
	must(t, err)
	if !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, "-own-") }) {
		t.Errorf("the lock's nodes are %q", names)
	}
	release(t, lock)
}
