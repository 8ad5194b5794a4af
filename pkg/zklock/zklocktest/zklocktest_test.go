package zklocktest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"orderstock/pkg/zklock"
	"orderstock/pkg/zklock/zklocktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

func acquire(t *testing.T, l zklock.Locker) *zklock.Lock {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lock, err := l.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

func await[T any](t *testing.T, event <-chan T) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(patience):
		t.Fatal("it did not happen")
	}
}

// An expiry ends the holder's context and lets the next one in, with a greater token.
func TestExpire(t *testing.T) {
	server := zklocktest.NewServer(t)
	one, link := server.NewSession(t)
	two, _ := server.NewSession(t)
	first := acquire(t, zklock.NewMutex(one, "/locks/stock"))
	next := make(chan *zklock.Lock, 1)
	go func() { next <- acquire(t, zklock.NewMutex(two, "/locks/stock")) }()
	link.Expire()
	await(t, first.Context().Done())
	if err := first.Release(t.Context()); !errors.Is(err, zklock.ErrLost) {
		t.Errorf("release of the lost lock: %v", err)
	}
	second := <-next
	if !first.Token().Less(second.Token()) {
		t.Errorf("token %v after %v", second.Token(), first.Token())
	}
	if err := second.Release(t.Context()); err != nil {
		t.Error(err)
	}
	acquire(t, zklock.NewMutex(one, "/locks/stock")) // in its next session
}

// A short interruption loses nothing; one that is longer than the session timeout loses the lock.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	session, link := zklocktest.NewSession(t, zklock.WithSessionTimeout(10*time.Second))
	lock := acquire(t, zklock.NewMutex(session, "/locks/stock"))
	link.Disconnect()
	link.Reconnect()
	if err := lock.Release(t.Context()); err != nil {
		t.Error(err)
	}
	session, link = zklocktest.NewSession(t, zklock.WithSessionTimeout(time.Second))
	m := zklock.NewMutex(session, "/locks/stock")
	lock = acquire(t, m)
	link.Disconnect()
	began := time.Now()
	await(t, lock.Context().Done())
	if d := time.Since(began); d > patience/2 { // TestInVirtualTime is exact
		t.Errorf("told of the loss after %s", d)
	}
	link.Reconnect()
	acquire(t, m)
}

func TestSlow(t *testing.T) {
	t.Parallel()
	session, link := zklocktest.NewSession(t)
	link.Slow(100 * time.Millisecond)
	began := time.Now()
	acquire(t, zklock.NewMutex(session, "/locks/stock"))
	if d := time.Since(began); d < 200*time.Millisecond { // a create and a look
		t.Errorf("acquired after %s", d)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	other := zklock.NewMutex(session, "/locks/other")
	if _, err := other.Acquire(ctx); !errors.Is(err, zklock.ErrNotAcquired) {
		t.Errorf("acquired in half the time of an answer: %v", err)
	}
}

// The test's end closes what the test has left, also a session that is cut off.
func TestEndWhileDisconnected(t *testing.T) {
	t.Parallel()
	session, link := zklocktest.NewSession(t, zklock.WithSessionTimeout(time.Minute))
	acquire(t, zklock.NewMutex(session, "/locks/stock"))
	link.Disconnect()
}

// In a bubble of testing/synctest no time passes while everybody waits, and the session runs out to the moment.
func TestInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session, link := zklocktest.NewSession(t, zklock.WithSessionTimeout(10*time.Second))
		lock := acquire(t, zklock.NewMutex(session, "/locks/stock"))
		time.Sleep(time.Hour)
		if !lock.Valid() {
			t.Fatal("lost in quiet times")
		}
		link.Disconnect()
		began := time.Now()
		<-lock.Context().Done()
		if d := time.Since(began); d < 5*time.Second || d > 10*time.Second {
			t.Errorf("told of the loss after %s", d)
		}
		link.Reconnect()
		again := acquire(t, zklock.NewMutex(session, "/locks/stock"))
		if err := again.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
