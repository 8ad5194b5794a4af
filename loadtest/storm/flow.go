package storm

import (
	"context"
	"slices"
	"sync"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
)

const (
	// enough is the number of requests that must pass in a second if orders flow.
	enough = 60
	// within is the time limit for orders to flow again after a fault.
	within = 15 * time.Second
)

// flow records when requests passed. It implements fire.Observer. The zero value is ready for use.
type flow struct {
	mu    sync.Mutex
	times []time.Time
}

// Started implements fire.Observer.
func (f *flow) Started(*history.History) {}

// Begin implements fire.Observer.
func (f *flow) Begin(*fire.Event) {}

// End implements fire.Observer.
func (f *flow) End(e *fire.Event) {
	if passed(e.Call) {
		f.pass(time.Now())
	}
}

func (f *flow) pass(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.times = append(f.times, at)
}

// passed reports whether a service answered with a state: the call was neither refused nor lost.
func passed(c history.Call) bool { return c.Status != history.NoStatus && c.Status != history.Unheard }

// between returns the number of requests that passed between two times.
func (f *flow) between(from, to time.Time) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, at := range slices.Backward(f.times) { // they are almost in order
		if at.Before(from.Add(-time.Second)) {
			break
		}
		if !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return n
}

// await waits for a second after since with enough passed requests, and returns when it began and its number of
// requests. If there is none within the limit, it returns the number of the best second.
func (f *flow) await(ctx context.Context, since time.Time) (took time.Duration, best int, err error) {
	for from := since; from.Sub(since) <= within; from = from.Add(100 * time.Millisecond) {
		to := from.Add(time.Second)
		if err := trial.Sleep(ctx, time.Until(to)); err != nil {
			return 0, 0, err
		}
		n := f.between(from, to)
		if best = max(best, n); n >= enough {
			return from.Sub(since), n, nil
		}
	}
	return within, best, nil
}
