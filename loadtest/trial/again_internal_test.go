package trial

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

// A call is sent at each of the seconds 0 to 9 and answered half a second later; calls in a gap are not acknowledged.
func callsWithout(gap ...int) *history.History {
	h := &history.History{Started: time.Unix(1000, 0), Elapsed: 10 * time.Second}
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

// with returns h with one more call, an answered read or write, that is sent at that second.
func with(h *history.History, second int, kind history.Kind, replayed bool) *history.History {
	sent := time.Duration(second) * time.Second
	h.Calls = append(h.Calls, history.Call{
		Kind: kind, Sent: sent, Done: sent + 500*time.Millisecond, Status: history.Confirmed, Replayed: replayed,
	})
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
		"repeated once all was healed":    {with(callsWithout(), 60, history.Again, false), 1, 1, true},
		"only by then":                    {with(callsWithout(), 60, history.Again, false), 20, 0, false},
		"a gap in which orders are read":  {with(callsWithout(3, 4, 5), 4, history.ReadOrder, false), 2.6, 3.9, true},
		"a gap in which one is replayed":  {with(callsWithout(3, 4, 5), 4, history.Again, true), 2.6, 3.9, true},
		"a gap in which one is cancelled": {with(callsWithout(3, 4, 5), 4, history.Cancel, false), 2.6, 2, true},
	} {
		got, some := writesAgain(c.h, c.h.Started.Add(time.Duration(c.from*float64(time.Second))))
		if d := got.Seconds() - c.want; d > 0.001 || d < -0.001 || some != c.some {
			t.Errorf("%s: %s, %t; want %.1f s, %t", name, got, some, c.want, c.some)
		}
	}
}

// A rolling restart may answer 503 or lose a connection, if the client that repeats the order is served.
func TestServedCountsRetries(t *testing.T) {
	t.Parallel()
	code := func(op int32, kind history.Kind, code uint16) history.Call {
		return history.Call{Op: op, Kind: kind, Code: code}
	}
	lost := func(op int32, failure history.Failure) history.Call {
		return history.Call{Op: op, Failure: failure}
	}
	good := []history.Call{
		code(0, history.Place, 201), code(1, history.Place, 202), code(2, history.Place, 409),
		code(3, history.Place, 503), code(3, history.Again, 503), code(3, history.Again, 201),
		lost(4, history.Refused), code(4, history.Again, 409), lost(5, history.Broken), code(5, history.Again, 202),
		code(0, history.Cancel, 500),
	}
	for name, c := range map[string]struct {
		more   []history.Call
		failed int
	}{
		"all are served":            {nil, 0},
		"another answer":            {[]history.Call{code(6, history.Place, 500), code(6, history.Again, 201)}, 1},
		"503 and no end":            {[]history.Call{code(6, history.Place, 503), code(6, history.Again, 503)}, 1},
		"503 and only cancelled":    {[]history.Call{code(6, history.Place, 503), code(6, history.Cancel, 409)}, 1},
		"a connection, and no end":  {[]history.Call{lost(6, history.Broken), lost(6, history.Refused)}, 2},
		"one unreadable, one empty": {[]history.Call{lost(6, history.Unreadable), code(7, history.Place, 400)}, 2},
	} {
		r := &Result{History: &history.History{Calls: slices.Concat(good, c.more)}, Outcome: verify.Pass}
		r.countServed(time.Time{})
		if r.Violations != c.failed || (r.Outcome == verify.Pass) != (c.failed == 0) || r.Retried503 != 1 ||
			r.RetriedLost != 2 {
			t.Errorf("%s: %d violations, %s, %d and %d retried; want %d, and 1 and 2", name, r.Violations, r.Outcome,
				r.Retried503, r.RetriedLost, c.failed)
		}
	}
	late := &history.History{Calls: append(slices.Clone(good), lost(6, history.TimedOut), code(6, history.Again, 201))}
	slow := &Result{History: late, Outcome: verify.Pass}
	if slow.countServed(time.Time{}); slow.Outcome != verify.Unknown || slow.Violations > 0 {
		t.Errorf("no answer in time is %s with %d violations, want unknown", slow.Outcome, slow.Violations)
	}
	early := &Result{History: &history.History{Started: time.Unix(1000, 0), Elapsed: time.Second}, Outcome: verify.Pass}
	if early.countServed(time.Unix(1002, 0)); early.Outcome != verify.Unknown {
		t.Errorf("traffic that was over before the restart is %s, want unknown", early.Outcome)
	}
}

// Every row of a cluster has the field, even if it is 0 s, and no other row does.
func TestWritesAgainIsInTheRowsOfAClusterAlone(t *testing.T) {
	t.Parallel()
	zero, three := 0.0, 3.0
	for want, runs := range map[string][]*Result{
		`"writes_again_s":0,`: {{WritesAgainS: &zero}},
		`"writes_again_s":3,`: {{WritesAgainS: &zero}, {WritesAgainS: &three}, {WritesAgainS: &zero}},
		"":                    {{}},
	} {
		var row Row
		for _, run := range runs {
			row.add(run)
		}
		text, err := json.Marshal(row)
		has := strings.Contains(string(text), "writes_again_s")
		if err != nil || !strings.Contains(string(text), want) || has != (want != "") {
			t.Errorf("%s, %v; want %q", text, err, want)
		}
	}
}

func TestVerdictIsReadFromTheNewPrimary(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		moves bool
		from  string
		want  verify.Outcome
	}{
		{true, "b:1", verify.Pass},
		{true, "a:1", verify.Unknown},
		{true, "", verify.Unknown},
		{false, "a:1", verify.Pass},
		{false, "", verify.Unknown},
	} {
		r := &Run{
			Result:  &Result{Outcome: verify.Pass, Verdict: &verify.Verdict{ReadFrom: c.from}},
			primary: "a:1",
		}
		if r.checkReadFrom(c.moves); r.Outcome != c.want {
			t.Errorf("moves %t from a:1, read from %q: %s %q, want %s", c.moves, c.from, r.Outcome, r.Why, c.want)
		}
	}
}
