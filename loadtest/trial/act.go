package trial

import (
	"context"
	"sync"
	"time"
)

// Act breaks one thing and heals it. It is armed and then healed once, and strikes when it is armed, or as often as
// Count says. Its functions but Do may be nil.
type Act struct {
	// Action says what it breaks, when it begins, and what follows.
	Action Action
	// Do breaks something, at once or at the next opportunity. Undo heals it: the system is intact when it returns.
	Do, Undo func(ctx context.Context) error
	// On reports whether its effect lasts, as the processes, connections and fault points show. Default: it
	// does not outlast Do.
	On func(ctx context.Context) bool
	// Count counts strikes since any time, at a server that may restart and count from 0 again.
	Count func(ctx context.Context) (int, error)

	// Armed, Struck, Mended and Healed are when Arm was called, when a run looked last before it saw the first strike or
	// no longer waited for one, when Heal returned, and when the system served again.
	Armed, Struck, Mended, Healed time.Time
	// Fired is how often it struck.
	Fired int
	// Unseen is the error that kept its strikes from being counted, if none was.
	Unseen error
	// Err is why it failed, or ErrOver.
	Err error

	find func(ctx context.Context) error // finds its targets, before strikes are counted; may be nil

	mu             sync.Mutex // guards what follows
	struck, before int
}

// Arm makes it strike, at once or at the next opportunity.
func (s *Act) Arm(ctx context.Context) error {
	s.Armed = time.Now()
	if s.find != nil {
		if err := s.find(ctx); err != nil {
			return err
		}
	}
	if err := s.countBefore(ctx); err != nil {
		return err
	}
	if err := s.Do(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.struck = 1
	return nil
}

// countBefore takes the initial count. The counting server may be restarting just then, by another act.
func (s *Act) countBefore(ctx context.Context) error {
	if s.Count == nil {
		return nil
	}
	return await(ctx, restartWithin, "for the server that counts", func(ctx context.Context) (err error) {
		s.before, err = s.Count(ctx)
		return err
	})
}

// strikes counts its strikes since it was armed. It is safe for concurrent use, once the act is armed.
func (s *Act) strikes(ctx context.Context) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Count == nil {
		return s.struck, nil
	}
	n, err := s.Count(ctx)
	if n < s.before {
		s.before = 0 // the counting server was restarted since
	}
	return n - s.before, err
}

// begun returns when its effect began. One that waits for no step begins to break while it is armed, which may take as
// long as a restart.
func (s *Act) begun() time.Time {
	if s.Action.Step == "" || s.Struck.IsZero() {
		return s.Armed
	}
	return s.Struck
}

// Heal undoes it.
func (s *Act) Heal(ctx context.Context) error {
	if s.Undo == nil {
		return nil
	}
	return s.Undo(ctx)
}

// repeatedly does each thing again and again, with a pause, until stop is called or ctx ends. stop returns when nothing
// is done any more.
func repeatedly(ctx context.Context, pause time.Duration, things ...func(context.Context)) (stop func()) {
	var busy sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	for _, do := range things {
		busy.Go(func() {
			for ctx.Err() == nil {
				do(ctx)
				_ = Sleep(ctx, pause)
			}
		})
	}
	return func() {
		cancel()
		busy.Wait()
	}
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
