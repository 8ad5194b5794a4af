package faults

import (
	"testing"
	"time"

	"orderstock/loadtest/history"
)

// A call is sent at each of the seconds 0 to 9 and answered half a second later; those of a gap are not acknowledged.
func callsWithout(gap ...int) *history.History {
	h := &history.History{Started: time.Unix(1000, 0)}
	out := map[int]bool{}
	for _, s := range gap {
		out[s] = true
	}
	for s := range 10 {
		c := history.Call{Sent: time.Duration(s) * time.Second, Status: history.Confirmed}
		if c.Done = c.Sent + 500*time.Millisecond; out[s] {
			c.Status = history.Pending
		}
		h.Calls = append(h.Calls, c)
	}
	return h
}

func TestWritesAgainIsTheLongestGap(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		h    *history.History
		from float64 // seconds after the start
		want float64
		some bool
	}{
		"no gap":                          {callsWithout(), 1, 1, true},
		"a gap":                           {callsWithout(3, 4, 5), 2.6, 3.9, true},
		"a gap before it could heal":      {callsWithout(0, 1, 2, 3), 4.2, 1, true},
		"a gap until the end":             {callsWithout(5, 6, 7, 8, 9), 4, 4.5, true},
		"none after it could heal":        {callsWithout(5, 6, 7, 8, 9), 5, 4, false},
		"the traffic was over by then":    {callsWithout(), 20, 0, false},
		"a late one that is not answered": {callsWithout(9), 8.6, 0.4, false},
	} {
		got, some := writesAgain(c.h, c.h.Started.Add(time.Duration(c.from*float64(time.Second))))
		if d := got.Seconds() - c.want; d > 0.001 || d < -0.001 || some != c.some {
			t.Errorf("%s: %s, %t; want %.1f s, %t", name, got, some, c.want, c.some)
		}
	}
}
