package locktest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/zklock"
)

// soon bounds a step that no fault delays.
const soon = 20 * time.Second

func connect(t *testing.T, timeout time.Duration, servers ...string) *zklock.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	s, err := zklock.Connect(ctx, servers, zklock.WithSessionTimeout(timeout))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, zklock.ErrSessionClosed) {
			t.Errorf("close session: %v", err)
		}
	})
	return s
}

func acquire(t *testing.T, m *zklock.Mutex, limit time.Duration) *zklock.Lock {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	lock, err := m.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

func release(t *testing.T, lock *zklock.Lock) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if err := lock.Release(ctx); err != nil {
		t.Error(err)
	}
}

// plain is a mutex without local hand-off: each acquisition is a node.
func plain(s *zklock.Session, path string) *zklock.Mutex {
	return zklock.NewMutex(s, path, zklock.WithHandoff(1, 0))
}

// direct is a session with the run's server that no fault touches.
func direct(t *testing.T) *zklock.Session {
	t.Helper()
	return connect(t, 10*time.Second, serverstest.ZooKeeper(t).Addr())
}

// awaitChildren waits until the lock's path has n children, by watches.
func awaitChildren(t *testing.T, s *zklock.Session, path string, n int, limit time.Duration) {
	t.Helper()
	timeout := time.After(limit)
	for {
		names, _, events, err := s.Conn().ChildrenW(path)
		if errors.Is(err, zk.ErrNoNode) && n == 0 {
			return
		}
		var changed <-chan zk.Event
		switch {
		case errors.Is(err, zk.ErrNoNode):
			_, _, changed, err = s.Conn().ExistsW(path)
		case err == nil && len(names) == n:
			return
		default:
			changed = events
		}
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("%s after %s: %q, want %d children", path, limit, names, n)
		}
	}
}

// checkExcluded fails the test if another client gets the held lock.
func checkExcluded(t *testing.T, other *zklock.Mutex) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if _, err := other.TryAcquire(ctx); !errors.Is(err, zklock.ErrNotAcquired) {
		t.Errorf("another client tries what is held: %v", err)
	}
}
