package conn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Package zklock exports these; ErrClosed is its ErrSessionClosed.
var (
	ErrClosed = errors.New("zklock: session closed")
	ErrLost   = errors.New("zklock: lock lost")

	// ErrExpired and ErrSilence say why a lifetime has ended.
	ErrExpired = fmt.Errorf("%w: ZooKeeper session expired", ErrLost)
	ErrSilence = fmt.Errorf("%w: nothing heard from ZooKeeper for a session timeout", ErrLost)
)

// call runs a request of the client library, which takes no context, until ctx ends, and then returns ctx's cause. The
// request is sent even if ctx has ended before. One that is left behind goes on until it is answered or its connection
// ends; late gets the outcome, unless it is nil. After Close, call fails with ErrClosed.
func call[T any](ctx context.Context, c *Conn, request func() (T, error), late func(T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer) // unbuffered: an answer is received, or ctx has ended
	begun := c.Go(func() {
		value, err := request()
		select {
		case answers <- answer{value, err}:
		case <-ctx.Done():
			if late != nil {
				late(value, err)
			}
		}
	})
	var none T
	if !begun {
		return none, ErrClosed
	}
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// Retry calls f until its error is not Temporary or ctx ends, with pauses. f should wait for the
// connection, by Conn.Ready, if its request would fail at once without one.
func Retry(ctx context.Context, f func() error) error {
	for pause := (Pause{}); ; {
		err := f()
		if !Temporary(err) {
			return err
		}
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}

// Pause is the time between two attempts. It doubles from 5 ms to a second, with a random part that
// keeps many clients from coming back at the same moment. The zero value is ready for use.
type Pause struct{ next time.Duration }

// Wait waits, and returns ctx's cause if that ends first.
func (p *Pause) Wait(ctx context.Context) error {
	p.next = min(max(2*p.next, 5*time.Millisecond), time.Second)
	return Sleep(ctx, p.next/2+rand.N(p.next/2))
}

// Allowance lets something happen a number of times at once, and once more after each interval: a line of the log, for
// example. It is safe for concurrent use.
type Allowance struct {
	Times int
	Every time.Duration

	mu    sync.Mutex
	spent time.Time // when all of it is there again
}

// Take takes one, and reports whether one was left.
func (a *Allowance) Take() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	spent := a.spent
	if spent.Before(now) {
		spent = now
	}
	if spent = spent.Add(a.Every); spent.After(now.Add(time.Duration(a.Times) * a.Every)) {
		return false
	}
	a.spent = spent
	return true
}

// Sleep waits for d, and returns ctx's cause if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	return Wait(ctx, timer.C)
}

// Wait waits for an event, or for the end of its channel, and returns ctx's cause if that ends first.
func Wait[T any](ctx context.Context, event <-chan T) error {
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Until returns ctx with an earlier end: it ends when life ends, with life's cause. Callers must call stop.
func Until(ctx, life context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unlink := context.AfterFunc(life, func() { cancel(context.Cause(life)) })
	return ctx, func() {
		unlink()
		cancel(nil)
	}
}
