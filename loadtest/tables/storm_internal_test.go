package tables

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"orderstock/loadtest/trial"
)

// pour lets the requests pass for some time, at a rate.
func pour(ctx context.Context, count *atomic.Int64, perS int, d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end) && trial.Sleep(ctx, time.Second/time.Duration(perS)) == nil; {
		count.Add(1)
	}
}

// TestOrdersFlowAgain once enough requests pass in a second.
func TestOrdersFlowAgain(t *testing.T) {
	for name, c := range map[string]struct {
		perS      int // after three seconds of nothing
		flows     bool
		low, high time.Duration
	}{
		"at the usual rate": {70, true, 3 * time.Second, 5 * time.Second},
		// A client whose counter never expires is refused with a rare exception.
		"a few": {5, false, within, within + 2*time.Second},
		"most":  {50, false, within, within + 2*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				var count atomic.Int64
				pour(ctx, &count, 100, 2*time.Second) // before the fault
				go func() {
					if trial.Sleep(ctx, 3*time.Second) == nil {
						pour(ctx, &count, c.perS, time.Minute)
					}
				}()
				began := time.Now()
				best, err := flows(ctx, count.Load)
				took := time.Since(began)
				if err != nil || best >= enough != c.flows || took < c.low || took > c.high {
					t.Errorf("took %v, best %d, %v", took, best, err)
				}
				stop()
				if _, err := flows(ctx, count.Load); !errors.Is(err, context.Canceled) {
					t.Errorf("an interrupt: %v", err)
				}
			})
		})
	}
}

// TestStorm breaks each process in each way, one after the other, and then two at a time; the last ends the load.
func TestStorm(t *testing.T) {
	servers, replicas := []string{"mysql", "redis"}, []string{"order-1"}
	e := Storm(servers, replicas, 5, 7)
	if again := Storm(servers, replicas, 5, 7); !slices.EqualFunc(e.Acts, again.Acts, func(a, b trial.Action) bool {
		return a.String() == b.String() && a.Then == b.Then
	}) {
		t.Error("the same seed breaks something else")
	}
	if len(e.Acts) != 9+5+1 || e.Least != least {
		t.Fatalf("%d acts, and at least %d orders", len(e.Acts), e.Least)
	}
	swept := map[string]bool{}
	for _, a := range e.Acts[:9] {
		swept[a.Words()] = true
		if !a.Then || a.NoWait || a.Known() != nil {
			t.Errorf("%s: it follows the one before: %t; nobody waits: %t; %v", a, a.Then, a.NoWait, a.Known())
		}
	}
	if len(swept) != 9 {
		t.Errorf("swept are %v, want each of three in three ways", swept)
	}
	for i, then := range []bool{true, false, true, false, true} {
		a := e.Acts[9+i]
		if a.Then != then || !a.NoWait || i%2 == 1 && a.Target == e.Acts[8+i].Target {
			t.Errorf("random act %d is %+v", i, a)
		}
	}
	if last := e.Acts[14]; !last.Then || last.NoWait || last.Action != trial.Nothing {
		t.Errorf("the last act is %+v, want a wait until orders flow", last)
	}
	for i, a := range e.Acts {
		if a.EndsLoad != (i == len(e.Acts)-1) {
			t.Errorf("act %d, %s, ends the load: %t", i, a, a.EndsLoad)
		}
	}
}
