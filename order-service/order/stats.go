package order

import (
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
	// Cancelled counts the completed cancellations, by clients and by the reconciler.
	Cancelled atomic.Int64
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
	// Reconciled counts the orders that the reconciler settled, Rounds its rounds.
	Reconciled, Rounds atomic.Int64
	// BooksChecked counts the orders compared with their operations. BooksWrong counts the orders among them that
	// disagreed, and their products with a level below zero: none in a working system.
	BooksChecked, BooksWrong atomic.Int64
	// Leads is 1 while this replica is the one that reconciles.
	Leads atomic.Int64
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
