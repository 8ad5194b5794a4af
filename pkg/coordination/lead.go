package coordination

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orderstock/pkg/zklock"
)

// Lead runs work, again and again, under a context that lasts while this process leads the replicas that do the
// work of that name. If work fails, the process gives the lead up and rests before it stands for election again, so
// that another can lead. Lead ends when ctx ends or stop is called. Stop waits until work has returned.
func (s *Session) Lead(ctx context.Context, name string, rest time.Duration,
	work func(context.Context) error,
) (stop func()) {
	return s.begin(ctx, func(ctx context.Context, session *zklock.Session) {
		lead := zklock.NewMutex(session, s.cfg.Root+"/"+name, zklock.WithLabel(s.name), zklock.WithHandoff(1, 0))
		for ctx.Err() == nil {
			if err := s.leadOnce(ctx, lead, work); err != nil && ctx.Err() == nil {
				s.cfg.Log.Warn("not leading", "what", name, "error", err.Error())
				select {
				case <-time.After(rest):
				case <-ctx.Done():
				}
			}
		}
	})
}

// leadOnce works for one term of office: from taking the lead to its loss, the end of the work, or the end of ctx.
func (s *Session) leadOnce(ctx context.Context, lead *zklock.Mutex, work func(context.Context) error) error {
	lock, err := lead.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("take the lead: %w", err)
	}
	s.cfg.Log.Info("leading", "path", lead.Path(), "token", lock.Token().String())
	leading, cancel := context.WithCancel(lock.Context())
	defer cancel()
	defer context.AfterFunc(ctx, cancel)() // the lock's context does not end with ctx by itself
	failure := work(leading)
	resign, done := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer done()
	err = lock.Release(resign)
	if errors.Is(err, zklock.ErrLost) {
		err = nil
	}
	if err := errors.Join(failure, err); err != nil {
		return fmt.Errorf("give up the lead: %w", err)
	}
	return nil
}
