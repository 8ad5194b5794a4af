package order

import (
	"context"
	"log/slog"
	"time"
)

// MeasureBacklog counts the unsettled orders of all replicas and sets Stats.Backlog, Stats.OldestMillis and
// Stats.ClockLateMillis. If it returns an error, ErrUnavailable, it changes nothing.
func (s *Service) MeasureBacklog(ctx context.Context) error {
	now, err := s.store.Now(ctx)
	if err != nil {
		return err
	}
	late := -time.Since(now).Milliseconds()
	var backlog, oldest int64
	for _, status := range []Status{Pending, Cancelling} {
		n, changed, err := s.store.Backlog(ctx, status, now.Add(-s.cfg.PendingLimit))
		if err != nil {
			return err
		}
		if n > 0 {
			backlog += n
			oldest = max(oldest, now.Sub(changed).Milliseconds())
		}
	}
	s.stats.ClockLateMillis.Store(late)
	s.stats.Backlog.Store(backlog)
	s.stats.OldestMillis.Store(oldest)
	return nil
}

// WatchBacklog measures the backlog at once, and then every interval until ctx ends. Each replica should do so: the one
// that reconciles may be gone, and then the backlog grows.
func (s *Service) WatchBacklog(ctx context.Context, interval time.Duration, log *slog.Logger) {
	next := time.NewTicker(interval)
	defer next.Stop()
	for {
		if err := s.MeasureBacklog(ctx); err != nil && ctx.Err() == nil {
			log.Warn("backlog not measured", "error", err.Error())
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
	}
}
