package fire

import (
	"fmt"
	"sync"
	"time"

	"orderstock/loadtest/history"
)

// Event is one call that has ended.
type Event struct {
	// Call holds the number of the order, the kind of the call, its times, its order id and its outcome.
	// Latency counts from the intended time.
	history.Call
	// Items are the items of the order, in any order.
	Items []history.Item
}

// Live counts the calls of a run in progress. The zero value is ready for one run. All methods are safe for concurrent
// use.
type Live struct {
	mu     sync.Mutex
	counts Counts
}

// Counts is the progress of a run. Outcomes counts the first call of each order, once that has ended.
type Counts struct {
	history.Outcomes
	// Passed counts the calls of any kind that a service answered with a state: neither refused nor lost.
	Passed int64
	// Latest is when the last order was answered, from the start of the run.
	Latest time.Duration
}

// Counts returns the current counts.
func (l *Live) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

func (c Counts) String() string {
	return fmt.Sprintf("%.0f orders/s  confirmed %d  rejected %d  pending %d  other %d",
		float64(c.Orders)/max(c.Latest.Seconds(), 1e-3), c.Confirmed, c.Rejected, c.Pending, c.Unknown)
}

func (l *Live) end(call *history.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.counts
	if call.Status != history.NoStatus && call.Status != history.Unheard {
		c.Passed++
	}
	if call.Kind == history.Place {
		c.Add(call.Status)
		c.Latest = call.Done // among calls that end together, any will do
	}
}
