package zklock

import (
	"context"
	"math/rand/v2"
	"time"
)

// call runs a request of the client library, which knows no context, until ctx or the session
// ends. The request is sent in any case, even where ctx has ended. One that is left behind goes on
// until it is answered or the connection is lost; late then gets its outcome, to clean up. late
// may be nil.
func call[T any](ctx context.Context, s *Session, request func() (T, error), late func(T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	if !s.admit() {
		return none, ErrSessionClosed
	}
	answers := make(chan answer)
	left := make(chan struct{})
	go func() {
		defer s.requests.Done()
		value, err := request()
		select {
		case answers <- answer{value, err}:
		case <-left:
			if late != nil {
				late(value, err)
			}
		}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		close(left)
		return none, context.Cause(ctx)
	case <-s.ctx.Done():
		close(left)
		return none, context.Cause(s.ctx)
	}
}

// admit counts a request in, unless the session is closed.
func (s *Session) admit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.requests.Add(1)
	}
	return !s.closed
}

// spawn runs f in the background, unless the session is closed. Close waits for it.
func (s *Session) spawn(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.background.Go(f)
	}
}

// retryPause is between two attempts at what the connection or the session was in the way of.
// ready waits for the next connection; this keeps many clients from coming back in one moment.
type retryPause struct{ next time.Duration }

const longestPause = time.Second

func (p *retryPause) wait(ctx context.Context, s *Session) error {
	p.next = min(max(2*p.next, 5*time.Millisecond), longestPause)
	timer := time.NewTimer(p.next/2 + rand.N(p.next/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}
