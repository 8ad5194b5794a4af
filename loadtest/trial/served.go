package trial

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

// WritesAgainWithin is how long a cluster may take no writes once it can heal by itself.
const WritesAgainWithin = 15 * time.Second

// WritesAgain checks that a cluster takes writes again in time, from when the only act was armed, or by an operator
// from when it was mended, since it cannot heal by itself before.
func WritesAgain(operator bool) Check {
	return When(Sent, isWriting, func(_ context.Context, r *Run) error {
		a, err := r.onlyAct()
		if err != nil {
			return err
		}
		healable := a.Armed
		if operator {
			healable = a.Mended
		}
		again, some := writesAgain(r.History, healable)
		if !some {
			r.fail(verify.Unknown, "no write was acknowledged once the cluster could heal, or the traffic was over")
		}
		seconds := again.Seconds()
		if r.WritesAgainS = &seconds; again > WritesAgainWithin {
			r.Violate(isWriting, 1, "no write was acknowledged for %s", again.Round(100*time.Millisecond))
		}
		return nil
	})
}

// writesAgain returns the longest time without an acknowledged write between healable and the last call of the load.
// Confirmed, rejected and cancelled are acknowledged writes, unless they were read or answered before. some reports
// whether there was any.
func writesAgain(h *history.History, healable time.Time) (longest time.Duration, some bool) {
	var at []time.Duration // after the start
	var last time.Duration
	for _, c := range h.Calls {
		if c.Sent > h.Elapsed { // made once all was healed, by clients that had waited for it
			continue
		}
		last = max(last, c.Sent)
		writes := c.Kind.Places() || c.Kind == history.Cancel
		switch c.Status {
		case history.Confirmed, history.Rejected, history.Cancelled:
			if writes && !c.Replayed {
				at = append(at, c.Done)
			}
		}
	}
	slices.Sort(at)
	from := healable.Sub(h.Started)
	some = len(at) > 0 && at[len(at)-1] > from
	for _, t := range append(at, max(last, from)) {
		if t < from {
			continue
		}
		longest, from = max(longest, t-from), t
	}
	return longest, some
}

// ReadFrom checks that the verdict is read from the group's primary. moves says that it must be another one than
// before the fault.
func ReadFrom(moves bool) Check {
	return Check{"read-from", "", func(ctx context.Context, r *Run, at Moment) (err error) {
		switch at {
		case Intact:
			r.primary, err = primaryOf(ctx, r.System.Cluster.Group)
		case Judged:
			r.checkReadFrom(moves)
		}
		return err
	}}
}

func (r *Run) checkReadFrom(moves bool) {
	switch from := r.Verdict.ReadFrom; {
	case from == "":
		r.fail(verify.Unknown, "the verdict was not read from a primary")
	case from == r.primary && moves:
		r.fail(verify.Unknown, "the verdict was read from %s, which was the primary before the fault", from)
	}
}

// Served checks that every order is answered 201, 202 or 409, at once or when its client repeats it.
var Served = When(Sent, isServed, func(_ context.Context, r *Run) error {
	r.countServed(r.healed())
	return nil
})

// countServed counts the orders that were not served at once. It fails the run if an order failed or has no outcome.
// The run is unknown if a call was not answered in time, which a machine may cause that is too slow, or if the traffic
// was over before healed, when the last process had been restarted.
func (r *Result) countServed(healed time.Time) {
	if r.History.Started.Add(r.History.Elapsed).Before(healed) {
		r.fail(verify.Unknown, "the traffic was over before all was restarted")
	}
	ended := map[int32]bool{}
	for _, c := range r.History.Calls {
		ended[c.Op] = ended[c.Op] || c.Kind.Places() && served(c)
	}
	var failed, late []history.Call
	for _, c := range r.History.Calls {
		if c.Kind != history.Place || served(c) {
			continue
		}
		switch {
		case c.Failure == history.TimedOut:
			late = append(late, c)
		case !c.Unserved() || !ended[c.Op]:
			failed = append(failed, c)
		case c.Failure == history.Answered:
			r.Retried503++
		default:
			r.RetriedLost++
		}
	}
	if len(late) > 0 {
		r.fail(verify.Unknown, "%d orders had no answer within %s, order %s the first: a service hung, or the machine is "+
			"too slow", len(late), r.History.Timeout, fmt.Sprint(late[0].Op))
	}
	if len(failed) > 0 {
		r.Violate(isServed, len(failed), "%d orders failed, order %s the first: %s", len(failed), fmt.Sprint(failed[0].Op),
			cmp.Or(failed[0].Failure.String(), fmt.Sprintf("it was answered %d", failed[0].Code)))
	}
}

// served reports whether an order has an answer that every order must get in the end: 201, 202 or 409.
func served(c history.Call) bool {
	return c.Failure == history.Answered &&
		(c.Code == http.StatusCreated || c.Code == http.StatusAccepted || c.Code == http.StatusConflict)
}
