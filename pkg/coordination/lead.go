package coordination

import (
	"context"
	"time"

	"orderstock/pkg/zklock"
)

// Lead is zklock.Session.Lead in the background, for the replicas that do the work of that name. It ends when ctx ends
// or stop is called. Stop waits until work has returned.
func (s *Session) Lead(ctx context.Context, name string, rest time.Duration,
	work func(context.Context) error,
) (stop func()) {
	return s.begin(ctx, func(ctx context.Context, session *zklock.Session) {
		once := func(ctx context.Context, _ *zklock.Lock) error { return work(ctx) }
		if err := session.Lead(ctx, s.cfg.Root+"/"+name, rest, once, zklock.WithLabel(s.name)); ctx.Err() == nil {
			s.cfg.Log.Error("leads no more", "what", name, "error", err)
		}
	})
}
