package trial

import (
	"context"
	"time"

	"orderstock/pkg/retry"
)

// Act breaks one thing and heals it. Its methods are called one after the other.
type Act interface {
	// Arm makes it strike, at once or at the next opportunity.
	Arm(ctx context.Context) error
	// Fired counts its strikes since it was armed.
	Fired(ctx context.Context) (int, error)
	// Hold is how long it must last after it struck to show its effect, or UntilOver.
	Hold() time.Duration
	// Heal undoes it. The system is intact when it returns.
	Heal(ctx context.Context) error
}

// UntilOver is the Hold of an act that lasts until the load is over.
const UntilOver time.Duration = -1

// Simple is an Act made of functions. It strikes in Arm, or as often as Count says.
type Simple struct {
	// Do breaks something, and Undo, if not nil, heals it.
	Do, Undo func(ctx context.Context) error
	// Count, if not nil, counts strikes since any time, at a server that may restart and count from 0 again.
	Count func(ctx context.Context) (int, error)
	// For is how long it lasts.
	For time.Duration

	struck, before int
}

// Arm implements Act.
func (s *Simple) Arm(ctx context.Context) error {
	if err := s.countBefore(ctx); err != nil {
		return err
	}
	if err := s.Do(ctx); err != nil {
		return err
	}
	s.struck = 1
	return nil
}

// countBefore takes the initial count. The counting server may be restarting just then, by another act.
func (s *Simple) countBefore(ctx context.Context) error {
	if s.Count == nil {
		return nil
	}
	pauses := retry.Policy{First: 100 * time.Millisecond, Max: 100 * time.Millisecond, Tries: 50}
	return retry.Run(ctx, pauses, func() (err error) {
		s.before, err = s.Count(ctx)
		return err
	})
}

// Fired implements Act.
func (s *Simple) Fired(ctx context.Context) (int, error) {
	if s.Count == nil {
		return s.struck, nil
	}
	n, err := s.Count(ctx)
	if n < s.before {
		s.before = 0 // the counting server was restarted since
	}
	return n - s.before, err
}

// Hold implements Act.
func (s *Simple) Hold() time.Duration { return s.For }

// Heal implements Act.
func (s *Simple) Heal(ctx context.Context) error {
	if s.Undo == nil {
		return nil
	}
	return s.Undo(ctx)
}

// Sleep waits for d, or returns the cause of the end of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
