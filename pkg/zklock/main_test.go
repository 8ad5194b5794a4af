package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if left := leaked(); code == 0 && left != "" {
		fmt.Fprintln(os.Stderr, "goroutines that no test has ended:\n"+left)
		code = 1
	}
	os.Exit(code)
}

// leaked returns the stacks of the goroutines that do not end, but for this one.
func leaked() (left string) {
	for range 100 {
		all := make([]byte, 1<<20)
		_, left, _ = strings.Cut(string(all[:runtime.Stack(all, true)]), "\n\n")
		if left == "" {
			return ""
		}
		time.Sleep(50 * time.Millisecond)
	}
	return left
}

// patience is how long a test waits for an event that must happen.
const patience = 20 * time.Second

// connect returns a new session on the shared server.
func connect(t testing.TB, opts ...zklock.ConnectOption) *zklock.Session {
	t.Helper()
	return connectTo(t, zookeeper(t), opts...)
}

// connectTo returns a new session on the server at addr.
func connectTo(t testing.TB, addr string, opts ...zklock.ConnectOption) *zklock.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := zklock.Connect(ctx, []string{addr}, opts...)
	must(t, err)
	t.Cleanup(func() { closeSession(t, s) })
	return s
}

func closeSession(t testing.TB, s *zklock.Session) {
	t.Helper()
	if err := s.Close(); err != nil && !errors.Is(err, zklock.ErrSessionClosed) {
		t.Error(err)
	}
}

// acquirer is any of the locks.
type acquirer interface {
	Acquire(ctx context.Context) (*zklock.Lock, error)
}

func acquire(t testing.TB, m acquirer) *zklock.Lock {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lock, err := m.Acquire(ctx)
	must(t, err)
	return lock
}

func release(t testing.TB, lock *zklock.Lock) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must(t, lock.Release(ctx))
}

// acquisition is an Acquire in the background.
type acquisition struct {
	lock *zklock.Lock
	err  error
	done chan struct{}
}

func begin(ctx context.Context, m acquirer) *acquisition {
	a := &acquisition{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.lock, a.err = m.Acquire(ctx)
	}()
	return a
}

func (a *acquisition) wait(t testing.TB) *zklock.Lock {
	t.Helper()
	await(t, a.done, "an acquisition")
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a.lock
}

// inVain acquires with a limit, which grows until ZooKeeper has answered within it, and returns the error.
func inVain[L any](t testing.TB, acquire func(context.Context) (L, error)) error {
	t.Helper()
	for limit := 50 * time.Millisecond; ; limit *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		_, err := acquire(ctx)
		cancel()
		if limit > patience || !errors.Is(err, zklock.ErrNoAnswer) {
			return err
		}
	}
}

// waits fails the test with fault if the acquisition, over s, ends by what has happened at dir.
func (a *acquisition) waits(t testing.TB, s *zklock.Session, dir, fault string) {
	t.Helper()
	must(t, errorOf(s.Conn().Sync(dir))) // the news comes before this answer does
	for range 20 {                       // and it has looked at the queue again
		_, _, err := s.Conn().Children(dir)
		must(t, err)
	}
	select {
	case <-a.done:
		t.Errorf("%s: %v", fault, a.err)
	default:
	}
}

func await(t testing.TB, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
	}
}

// eventually waits for something that has no event.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// awaitChildren waits until the node has the wanted number of children, by watching it.
func awaitChildren(t testing.TB, conn *zk.Conn, path string, want int) []string {
	t.Helper()
	deadline := time.After(patience)
	for {
		names, _, events, err := conn.ChildrenW(path)
		if errors.Is(err, zk.ErrNoNode) {
			var exists bool
			if exists, _, events, err = conn.ExistsW(path); exists && err == nil {
				continue
			}
		}
		again := make(<-chan time.Time)
		if throttled(err) { // this read had to wait, too
			again, err = time.After(10*time.Millisecond), nil
		} else if err == nil && len(names) == want {
			return names
		}
		must(t, err)
		select {
		case <-again:
		case <-events:
		case <-deadline:
			t.Fatalf("%s has the children %q, want %d", path, names, want)
		}
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// check fails the test if err is not nil, and lets it go on.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// wantErr checks that err is want; what names the call that returned it.
func wantErr(t testing.TB, err, want error, what string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

// errorOf returns the error of a call whose value does not matter.
func errorOf[T any](_ T, err error) error { return err }
