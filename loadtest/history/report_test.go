package history_test

import (
	"testing"
	"time"

	"orderstock/loadtest/history"
)

// Two runs of different length add up to one run.
func TestSumOfReports(t *testing.T) {
	run := func(warmup, window time.Duration, latency time.Duration, status history.Status, n int) *history.Report {
		h := &history.History{Warmup: warmup, Window: window, Elapsed: window}
		for range n {
			h.Calls = append(h.Calls, history.Call{
				Kind: history.Place, Status: status, Code: 200, Intended: warmup,
				Done: warmup + latency,
			})
		}
		return h.Measure()
	}
	sum := history.Sum(run(0, 2*time.Second, 10*time.Millisecond, history.Confirmed, 5),
		run(time.Second, 4*time.Second, 30*time.Millisecond, history.Rejected, 10))
	if sum.Orders != 15 || sum.Calls != 15 || sum.Confirmed != 5 || sum.Rejected != 10 || sum.Elapsed != 6*time.Second {
		t.Errorf("%+v", sum)
	}
	if sum.DonePerS != 1 || sum.RejectedPerS != 2 || sum.OrdersPerS != 3 {
		t.Errorf("%.1f and %.1f of %.1f a second, want 1 and 2 of 3: over 5 s", sum.DonePerS, sum.RejectedPerS,
			sum.OrdersPerS)
	}
	if p50 := sum.P50.Round(time.Millisecond); p50 != 30*time.Millisecond ||
		sum.Max.Round(time.Millisecond) != 30*time.Millisecond {
		t.Errorf("p50 %s, max %s; want 30ms: two of three took so long", sum.P50, sum.Max)
	}
}
