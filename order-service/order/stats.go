package order

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// Stats counts the service's work. The counters may be read at any time.
type Stats struct {
	// InFlight is the number of orders being placed now.
	InFlight atomic.Int64
	// Confirmed, Rejected and CancelledEarly count the orders that this process placed and settled, by outcome.
	Confirmed, Rejected, CancelledEarly atomic.Int64
	// Replayed counts the requests answered with an earlier one's order.
	Replayed atomic.Int64
	// Unsettled counts the orders that were left to the reconciler.
	Unsettled atomic.Int64
	// Shed counts the requests refused because too many were in flight.
	Shed atomic.Int64
	// FlagsMissed counts the orders whose flag could not be set in Redis.
	FlagsMissed atomic.Int64

	// Observe, if not nil, is called with the time that each settled order took from its insert to its outcome. Set it
	// before the first order is placed.
	Observe func(took time.Duration)

	// Backlog is the number of unsettled orders that did not change within the pending limit, and OldestMillis the time
	// since the earliest of their last changes. MeasureBacklog sets both.
	Backlog, OldestMillis atomic.Int64
	// ClockLateMillis is how far this process's clock is behind the store's; below zero if it is ahead. MeasureBacklog
	// sets it.
	ClockLateMillis atomic.Int64
	// BooksChecked counts the orders compared with their operations. BooksWrong counts the orders among them that
	// disagreed, and their products with a level below zero: none in a working system.
	BooksChecked, BooksWrong atomic.Int64
}

// Stats returns the live counters.
func (s *Service) Stats() *Stats { return &s.stats }

func (st *Stats) placed(o Order, took time.Duration) {
	switch o.Outcome {
	case Confirmed:
		st.Confirmed.Add(1)
	case Rejected:
		st.Rejected.Add(1)
	case Cancelled:
		st.CancelledEarly.Add(1)
	}
	if st.Observe != nil {
		st.Observe(took)
	}
}

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
