package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// term is the time of a Session in one ZooKeeper session. All handles acquired in it end with it.
type term struct {
	lease *lease
	ctx   context.Context // ends with the term, with ErrLost
	end   context.CancelCauseFunc
}

// alive says that the server cannot have expired the session yet, by the local clock. It is asked
// before every grant, as a process that was paused may ask before any timer has told it.
func (t *term) alive() bool { return t.ctx.Err() == nil && t.lease.left() > 0 }

// keepTerm begins and ends the terms, until the session is closed. It is the one that does.
func (s *Session) keepTerm() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		up, lease, changed := s.monitor.state()
		s.turnTerm(up, lease)
		wait := time.Hour
		if t := s.currentTerm(); t != nil {
			wait = t.lease.left()
		}
		timer.Reset(max(wait, time.Millisecond))
		select {
		case <-changed:
		case <-timer.C:
		case <-s.ctx.Done():
			s.endTerm(fmt.Errorf("%w: %w", ErrLost, ErrSessionClosed))
			return
		}
	}
}

// turnTerm ends a term that is over and begins one where there is a session to begin it with. The
// same session may come back after its term was ended by the local clock: that is another term.
func (s *Session) turnTerm(up bool, lease *lease) {
	if t := s.currentTerm(); t != nil {
		switch {
		case t.lease != lease || lease.expired.Load():
			s.endTerm(fmt.Errorf("%w: %w", ErrLost, errSessionExpired))
		case lease.left() <= 0:
			s.endTerm(fmt.Errorf("%w: %w", ErrLost, errSilence))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.term == nil && up && lease != nil && lease.left() > 0 {
		t := &term{lease: lease}
		t.ctx, t.end = context.WithCancelCause(context.WithoutCancel(s.ctx))
		s.term = t
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Session) currentTerm() *term {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term
}

func (s *Session) endTerm(cause error) {
	s.mu.Lock()
	t := s.term
	s.term = nil
	s.mu.Unlock()
	if t == nil {
		return
	}
	if !errors.Is(cause, ErrSessionClosed) {
		s.log.Warn("zookeeper session over", "session", fmt.Sprintf("%#x", t.lease.id), "cause", cause)
	}
	t.end(cause)
}

// ready waits until there is a live session and a connection to use it on.
func (s *Session) ready(ctx context.Context) (*term, error) {
	for {
		s.mu.Lock()
		t, changed := s.term, s.changed
		s.mu.Unlock()
		if up, _, _ := s.monitor.state(); up && t != nil && s.ctx.Err() == nil {
			return t, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.ctx.Done():
			return nil, context.Cause(s.ctx)
		}
	}
}

// ID returns the id of the current ZooKeeper session, and 0 while there is none.
func (s *Session) ID() int64 {
	if t := s.currentTerm(); t != nil {
		return t.lease.id
	}
	return 0
}

// Timeout returns the session timeout as the server set it, and 0 while there is no session.
func (s *Session) Timeout() time.Duration {
	if t := s.currentTerm(); t != nil {
		return time.Duration(t.lease.timeout.Load())
	}
	return 0
}

// Lost returns a channel that is closed when the current ZooKeeper session is lost, or may be by
// the local clock, or when the Session is closed. It is closed already while there is none; ask
// again for the next one.
func (s *Session) Lost() <-chan struct{} {
	if t := s.currentTerm(); t != nil {
		return t.ctx.Done()
	}
	over := make(chan struct{})
	close(over)
	return over
}
