package loadtest

import (
	"context"
	"time"
)

// Pacer says when orders are meant to be sent.
type Pacer interface {
	// At returns the time of order n, counted from the start of the run.
	// paced is false where the order is meant to go as soon as a client is free.
	// It is called by many goroutines at once.
	At(n int) (offset time.Duration, paced bool)
}

// Rate paces a fixed number of orders a second, evenly. A rate of 0 paces nothing.
type Rate float64

// At implements Pacer.
func (r Rate) At(n int) (time.Duration, bool) {
	if r <= 0 {
		return 0, false
	}
	return time.Duration(float64(n) / float64(r) * float64(time.Second)), true
}

// sleepUntil waits for the moment and returns whether ctx was still alive then.
func sleepUntil(ctx context.Context, at time.Time) bool {
	wait := time.Until(at)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
