package storm

import (
	"context"
	"sync/atomic"
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

// flow counts the requests that passed. It implements fire.Observer. The zero value is ready for use.
type flow struct{ count atomic.Int64 }

// Started implements fire.Observer.
func (f *flow) Started(*history.History) {}

// Begin implements fire.Observer.
func (f *flow) Begin(*fire.Event) {}

// End implements fire.Observer.
func (f *flow) End(e *fire.Event) {
	if passed(e.Call) {
		f.count.Add(1)
	}
}

// passed reports whether a service answered with a state: the call was neither refused nor lost.
func passed(c history.Call) bool { return c.Status != history.NoStatus && c.Status != history.Unheard }

// await waits for a second from now with enough passed requests, and returns when it began and its number of requests.
// If there is none within the limit, it returns the number of the best second.
func (f *flow) await(ctx context.Context) (took time.Duration, best int, err error) {
	const pause = 100 * time.Millisecond
	var counts []int64 // after each pause
	for took < within {
		counts = append(counts, f.count.Load())
		if first := len(counts) - 1 - int(time.Second/pause); first >= 0 {
			took = time.Duration(first) * pause
			n := int(counts[len(counts)-1] - counts[first])
			if best = max(best, n); n >= enough {
				return took, n, nil
			}
		}
		if err := trial.Sleep(ctx, pause); err != nil {
			return 0, 0, err
		}
	}
	return within, best, nil
}
