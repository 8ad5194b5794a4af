package zklock

import (
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
