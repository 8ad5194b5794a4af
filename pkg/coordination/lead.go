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
		election := zklock.NewElection(session, s.cfg.Root+"/"+name, zklock.WithLabel(s.name))
		for ctx.Err() == nil {
			if err := s.leadOnce(ctx, election, work); err != nil && ctx.Err() == nil {
				s.cfg.Log.Warn("not leading", "what", name, "error", err.Error())
				select {
				case <-time.After(rest):
				case <-ctx.Done():
				}
			}
		}
	})
}

// leadOnce works for one term of office: from the election to the loss of the lead, the end of the work, or the
// end of ctx.
func (s *Session) leadOnce(ctx context.Context, election *zklock.Election, work func(context.Context) error) error {
	leadership, err := election.Campaign(ctx, "")
	if err != nil {
		return fmt.Errorf("take the lead: %w", err)
	}
	s.cfg.Log.Info("leading", "path", election.Path(), "token", leadership.Token().String())
	leading, cancel := context.WithCancel(leadership.Context())
	defer cancel()
	defer context.AfterFunc(ctx, cancel)() // the leadership's context does not end with ctx by itself
	failure := work(leading)
	resign, done := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer done()
	err = leadership.Resign(resign)
	if errors.Is(err, zklock.ErrLost) {
		err = nil
	}
	if err := errors.Join(failure, err); err != nil {
		return fmt.Errorf("give up the lead: %w", err)
	}
	return nil
}
