package zklock

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// A holder may see that its lock is lost, and release it, before the hook was called. The hook is still
// called, once.
func TestLossIsToldOnce(t *testing.T) {
	for range 5000 {
		var told atomic.Int64
		life, lose := context.WithCancelCause(t.Context())
		l := newLock(t.Context(), "/lock", Token{}, &holder{ctx: life}, Hooks{Lost: func(string, error) { told.Add(1) }},
			func(context.Context) error { return nil })
		go lose(ErrLost)
		<-l.Context().Done()
		if err := l.Release(t.Context()); !errors.Is(err, ErrLost) {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(20 * time.Second); told.Load() == 0 && time.Now().Before(deadline); {
			time.Sleep(10 * time.Microsecond)
		}
		if n := told.Load(); n != 1 {
			t.Fatalf("told of the loss %d times", n)
		}
	}
}
