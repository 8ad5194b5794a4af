package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orderstock/pkg/zklock/internal/conn"
)

// Lead has one of all processes that call it with this path do the work: it runs work, again and again, under a context
// that lasts while this process leads. The others wait in one order, and the next one leads when this process ends,
// gives the lead up by returning from work, or loses it. If work fails, this process rests before it stands for
// election again, so that another can lead; the failure is logged.
//
// Lead goes on over lost connections and sessions, and returns when ctx ends, with its cause, or when the Session is
// closed, with ErrSessionClosed. Work must end with its context, as Lead waits for it. A leader that was paused may not
// know yet that another leads: the store that it writes to should compare tokens; see Token.
func (s *Session) Lead(
	ctx context.Context, path string, rest time.Duration,
	work func(ctx context.Context, lock *Lock) error, opts ...Option,
) error {
	o := optionsOf(s, opts, Option.setLock)
	o.handoffs = 1
	lead := &Mutex{newQueued(s, path, o)}
	if work == nil || rest < 0 || lead.opts.invalid != nil {
		return errors.Join(fmt.Errorf("lead %s: want work, a rest of 0 or more, not %s, and possible options", path, rest),
			lead.opts.invalid)
	}
	for ctx.Err() == nil {
		err := Do(ctx, lead, func(ctx context.Context, lock *Lock) error {
			s.conn.Log.Info("leading", "path", lead.path, "token", lock.Token().String())
			return work(ctx, lock)
		})
		switch {
		case err == nil, ctx.Err() != nil:
		case errors.Is(err, ErrSessionClosed):
			return err
		default:
			s.conn.Log.Warn("not leading", "path", lead.path, "cause", err)
			if !errors.Is(err, ErrLost) {
				_ = conn.Sleep(ctx, rest) // the loop checks whether ctx has ended
			}
		}
	}
	return context.Cause(ctx)
}
