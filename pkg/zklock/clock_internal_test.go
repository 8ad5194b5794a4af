package zklock

import (
	"context"
	"errors"
	"testing"
	"time"

	"orderstock/pkg/servers/serverstest"
)

// A process that was paused past its session goes on in the middle of a release. No event has informed it
// of the loss yet: only the local clock shows it. The lock must not be handed on, and the release must
// fail.
func TestPauseIsSeenByTheClockAlone(t *testing.T) {
	s, err := Connect(t.Context(), []string{serverstest.ZooKeeper(t).Addr()}, WithSessionTimeout(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	m := NewMutex(s, serverstest.ZooKeeperRoot(t)+"/lock")
	paused, err := m.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan *Lock, 1)
	go func() {
		lock, err := m.Acquire(t.Context())
		if err != nil {
			t.Error(err)
		}
		next <- lock
	}()
	for waiting := 0; waiting == 0; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		waiting = s.queues[m.path].waiting.Len()
		s.mu.Unlock()
	}

	life := s.conn.Lifetime()
	timeout := life.Timeout.Swap(0) // the pause: no timer has fired yet
	if paused.Context().Err() != nil {
		t.Fatal("told of the loss before the release")
	}
	if err := paused.Release(t.Context()); !errors.Is(err, ErrLost) {
		t.Errorf("release after the pause: %v", err)
	}
	select {
	case lock := <-next:
		t.Errorf("handed on with token %v after %v", lock.Token(), paused.Token())
		return
	case <-time.After(50 * time.Millisecond): // far more than a hand-over takes
	}
	life.Timeout.Store(timeout) // the session turns out to be alive
	lock := <-next
	if lock.Token().Czxid <= paused.Token().Czxid {
		t.Errorf("token %v after %v: not of a new place in the queue", lock.Token(), paused.Token())
	}
	if err := lock.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// After such a pause, a release of any kind of lock says that the lock was lost.
func TestPauseIsSeenByEachKind(t *testing.T) {
	s, err := Connect(t.Context(), []string{serverstest.ZooKeeper(t).Addr()}, WithSessionTimeout(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	dir := serverstest.ZooKeeperRoot(t)
	ctx := WithOwner(t.Context())
	acquire := map[string]func() (interface{ Release(context.Context) error }, error){}
	for name, l := range map[string]Locker{
		"hand-off":               NewMutex(s, dir+"/hand-off"),
		"no hand-off":            NewMutex(s, dir+"/plain", WithHandoff(1, 0)),
		"parent":                 NewMutex(s, dir+"/parent", WithParentWatch()),
		"reentrant":              NewReentrantMutex(s, dir+"/reentrant"),
		"reentrant, no hand-off": NewReentrantMutex(s, dir+"/reentrant-plain", WithHandoff(1, 0)),
		"reader":                 NewRWMutex(s, dir+"/read").Reader(),
		"writer":                 NewRWMutex(s, dir+"/write").Writer(),
		"semaphore":              NewSemaphore(s, dir+"/semaphore", 2),
	} {
		acquire[name] = func() (interface{ Release(context.Context) error }, error) { return l.Acquire(ctx) }
	}
	multi := NewMulti(NewMutex(s, dir+"/one"), NewRWMutex(s, dir+"/two").Writer())
	acquire["multi"] = func() (interface{ Release(context.Context) error }, error) { return multi.Acquire(ctx) }
	for name, acquire := range acquire {
		lock, err := acquire()
		if err != nil {
			t.Fatal(err)
		}
		life := s.conn.Lifetime()
		timeout := life.Timeout.Swap(0) // the pause: no timer has fired yet
		if err := lock.Release(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("%s: release after the pause: %v", name, err)
		}
		life.Timeout.Store(timeout)
	}
	m := NewMutex(s, dir+"/do", WithHandoff(1, 0))
	err = Do(ctx, m, func(context.Context, *Lock) error {
		life := s.conn.Lifetime()
		timeout := life.Timeout.Swap(0)
		time.AfterFunc(50*time.Millisecond, func() { life.Timeout.Store(timeout) })
		return nil
	})
	if !errors.Is(err, ErrLost) {
		t.Errorf("Do after the pause: %v", err)
	}
}
