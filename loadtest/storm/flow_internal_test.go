package storm

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"orderstock/loadtest/trial"
)

// pour lets the requests pass for some time, at a rate.
func pour(ctx context.Context, f *flow, perS int, d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end) && trial.Sleep(ctx, time.Second/time.Duration(perS)) == nil; {
		f.count.Add(1)
	}
}

// TestOrdersFlowAgain once enough requests pass in a second.
func TestOrdersFlowAgain(t *testing.T) {
	for name, c := range map[string]struct {
		perS      int // after three seconds of nothing
		flows     bool
		low, high time.Duration
	}{
		"at the usual rate": {70, true, 2 * time.Second, 4 * time.Second},
		// A client whose counter never expires is refused with a rare exception.
		"a few": {5, false, within, within},
		"most":  {50, false, within, within},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				var f flow
				pour(ctx, &f, 100, 2*time.Second) // before the fault
				go func() {
					if trial.Sleep(ctx, 3*time.Second) == nil {
						pour(ctx, &f, c.perS, time.Minute)
					}
				}()
				took, best, err := f.await(ctx)
				if err != nil || best >= enough != c.flows || took < c.low || took > c.high {
					t.Errorf("took %v, best %d, %v", took, best, err)
				}
				stop()
				if _, _, err := f.await(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("an interrupt: %v", err)
				}
			})
		})
	}
}
