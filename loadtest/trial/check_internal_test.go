package trial

import (
	"testing"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

// An order counts once, when its outcome is told first. In the calls, one order a second ends before the fault, from
// the third second on, and half as many or fewer while it lasts.
func TestPace(t *testing.T) {
	t.Parallel()
	began := time.Unix(1000, 0)
	call := func(op int32, kind history.Kind, second float64, code uint16, status history.Status) history.Call {
		done := time.Duration(second * float64(time.Second))
		return history.Call{Op: op, Kind: kind, Done: done, Code: code, Status: status}
	}
	calls := []history.Call{
		call(0, history.Place, 1.5, 201, history.Confirmed), call(1, history.Twin, 2.5, 409, history.Rejected),
		call(1, history.Place, 2.6, 409, history.Rejected), call(0, history.Again, 2.7, 201, history.Confirmed),
		call(2, history.Place, 4, 202, history.Pending), call(2, history.Again, 5, 201, history.Confirmed),
		call(2, history.Cancel, 6, 200, history.Cancelled), call(3, history.Place, 6.9, 201, history.Confirmed),
		call(4, history.Place, 7.1, 201, history.Confirmed),
	}
	for _, test := range []struct {
		share float64
		armed float64 // second
		want  verify.Outcome
	}{{0.5, 3, verify.Pass}, {0.6, 3, verify.Violation}, {0.5, 1, verify.Unknown}} {
		at := began.Add(time.Duration(test.armed * float64(time.Second)))
		r := &Run{Result: &Result{
			Outcome: verify.Pass, History: &history.History{Started: began, Calls: calls},
			Acts: []*Act{{Action: Action{For: 4 * time.Second}, Armed: at, Struck: at}},
		}}
		if err := Pace(test.share).At(t.Context(), r, Sent); err != nil {
			r.fail(verify.Unknown, "%v", err)
		}
		if r.Outcome != test.want {
			t.Errorf("a share of %g after %gs: %s %q, want %s", test.share, test.armed, r.Outcome, r.Why, test.want)
		}
	}
}

// TestPaceOfABacklog: orders that waited for a stall end in the seconds before the fault. They make no pace that the
// load, of two orders a second, could keep.
func TestPaceOfABacklog(t *testing.T) {
	t.Parallel()
	began := time.Unix(1000, 0)
	ends := func(op int, at time.Duration) history.Call {
		return history.Call{Op: int32(op), Code: 201, Status: history.Confirmed, Done: at}
	}
	for perS, want := range map[int]verify.Outcome{2: verify.Pass, 1: verify.Violation} { // under the fault
		h := &history.History{Started: began}
		for op := range 8 { // of four seconds
			h.Calls = append(h.Calls, ends(op, 2100*time.Millisecond))
		}
		for op := range 4 * perS {
			h.Calls = append(h.Calls, ends(8+op, 4*time.Second+time.Duration(op)*time.Second/time.Duration(perS)))
		}
		at := began.Add(4 * time.Second)
		r := &Run{
			Result: &Result{
				Outcome: verify.Pass, History: h, Acts: []*Act{{Action: Action{For: 4 * time.Second}, Armed: at, Struck: at}},
			},
			load: fire.Config{Rate: 2},
		}
		if err := Pace(0.8).At(t.Context(), r, Sent); err != nil || r.Outcome != want {
			t.Errorf("%d orders a second under the fault: %s %q, %v; want %s", perS, r.Outcome, r.Why, err, want)
		}
	}
}

// TestChecksOfOneActProveNothingOfSeveral: the first act's times say nothing of the others.
func TestChecksOfOneActProveNothingOfSeveral(t *testing.T) {
	t.Parallel()
	began := time.Unix(1000, 0)
	at := began.Add(3 * time.Second)
	act := &Act{Action: Action{For: time.Second}, Armed: at, Struck: at, Mended: at}
	h := &history.History{Started: began, Elapsed: 5 * time.Second}
	for second := range 5 { // an order each second
		h.Calls = append(h.Calls, history.Call{
			Op: int32(second), Status: history.Confirmed, Code: 201, Done: time.Duration(second)*time.Second + time.Second/2,
		})
	}
	for name, check := range map[string]Check{
		"pace": Pace(0.5), "writes again": WritesAgain(false), "mended, writes again": WritesAgain(true),
	} {
		for n, want := range []verify.Outcome{verify.Unknown, verify.Pass, verify.Unknown} {
			r := &Run{Result: &Result{Outcome: verify.Pass, History: h, Acts: []*Act{act, act}[:n]}}
			if err := check.At(t.Context(), r, Sent); err != nil {
				r.fail(verify.Unknown, "%v", err)
			}
			if r.Outcome != want {
				t.Errorf("%s, with %d acts: %s %q, want %s", name, n, r.Outcome, r.Why, want)
			}
		}
	}
}
