package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/system"
)

// Check demands something of a run that the verdict does not. At is called at each Moment of the run; the moments of
// an act are the first act's. At notes a violation with Violate. An error means that the run proves nothing.
type Check struct {
	Name string
	// Says describes the requirement for a verdict's reader; "" keeps it out of verdicts that it does not break.
	Says string
	At   func(ctx context.Context, r *Run, at Moment) error
}

// When returns a check that is made at one moment.
func When(at Moment, name string, do func(ctx context.Context, r *Run) error) Check {
	return Check{name, "", func(ctx context.Context, r *Run, m Moment) error {
		if m != at {
			return nil
		}
		return do(ctx, r)
	}}
}

// Saying returns the check with its description.
func (c Check) Saying(says string) Check {
	c.Says = says
	return c
}

// The names of the checks.
const (
	isFresh      = "fresh-order-confirmed"
	isNotGivenUp = "not-given-up"
	isLocked     = "unlocked"
	isWriting    = "writes-again"
	isServed     = "served"
	// Unmet is the name of the checks of a fault that lasts long, of the system while it lasts or just after.
	Unmet = "unmet"
)

// recoverWithin is how long the system may take after the heal to confirm a fresh order.
const recoverWithin = 10 * time.Second

// FreshOrder checks that a fresh order is confirmed soon after the heal.
var FreshOrder = When(Judged, isFresh, func(ctx context.Context, r *Run) error {
	return r.demand(ctx, isFresh, confirms(ctx, "for a fresh order", r.System.Target()))
})

// demand notes a violation of the check if err is not nil, unless ctx has ended.
func (r *Run) demand(ctx context.Context, check string, err error) error {
	if err != nil && ctx.Err() == nil {
		r.Violate(check, 1, "%v", err)
	}
	return ctx.Err()
}

// NotGivenUp checks that an order is cancelled only if a client cancelled it. It holds only if the fault is shorter
// than the time after which orders are given up.
var NotGivenUp = When(Judged, isNotGivenUp, func(_ context.Context, r *Run) error {
	if r.GivenUp > 0 {
		r.Violate(isNotGivenUp, r.GivenUp, "%d orders were cancelled, though no client asked for it", r.GivenUp)
	}
	return nil
}).Saying("an order is given up only if a client cancelled it")

// Locked checks that no deduction goes without the locks of its products. It holds in calm alone.
var Locked = When(Judged, isLocked, func(_ context.Context, r *Run) error {
	if n := r.Verdict.Unlocked; n > 0 {
		r.Violate(isLocked, int(n), "%d deductions without the locks of their products", n)
	}
	return nil
})

// PacedFor is how long the rate before a fault is measured. The fault must not strike earlier.
const PacedFor = 2 * time.Second

// onlyAct returns the act of a run that has one: times measured from the first act prove nothing of several.
func (r *Run) onlyAct() (*Act, error) {
	if len(r.Acts) != 1 {
		return nil, fmt.Errorf("the check is of one act, and there are %d", len(r.Acts))
	}
	return r.Acts[0], nil
}

// Pace checks that, while the fault of the only act lasts, clients learn the outcomes of orders at least at that share
// of the rate just before it. Of more than the load's own rate, which a backlog that is worked off then makes, only
// that rate counts.
func Pace(share float64) Check {
	return When(Sent, Unmet, func(_ context.Context, r *Run) error {
		a, err := r.onlyAct()
		if err != nil {
			return err
		}
		before := r.rate(a.Armed.Add(-PacedFor), PacedFor)
		if before == 0 {
			return errors.New("no order ended before the fault")
		}
		if r.load.Rate > 0 {
			before = min(before, r.load.Rate)
		}
		if during := r.rate(a.Struck, a.Action.For); during < share*before {
			r.Violate(Unmet, 1, "%.1f orders a second ended under the fault, %.1f before: less than %.1f of it", during,
				before, share)
		}
		return nil
	})
}

// rate returns how many orders a second got their first answer with an outcome in that time.
func (r *Result) rate(from time.Time, d time.Duration) float64 {
	first, n := map[int32]time.Duration{}, 0
	for _, c := range r.History.Calls {
		if done, known := first[c.Op]; c.Kind.Places() && c.Ended() && (!known || c.Done < done) {
			first[c.Op] = c.Done
		}
	}
	begin := from.Sub(r.History.Started)
	for _, done := range first {
		if done >= begin && done < begin+d {
			n++
		}
	}
	return float64(n) / d.Seconds()
}

// Repeated is no check: it repeats the orders held by the frozen first order service at the second, while the fault
// lasts.
var Repeated = Check{"repeated", "", func(ctx context.Context, r *Run, at Moment) (err error) {
	switch at {
	case Broken:
		r.stopRepeats, err = repeatHeld(ctx, r.System)
	case Mending:
		r.stopRepeats()
	}
	return err
}}

// Confirming checks that, after the heal, every order service confirms an order within ten seconds.
var Confirming = When(Mended, Unmet, func(ctx context.Context, r *Run) error {
	return r.demand(ctx, Unmet, eachConfirms(ctx, r.System))
})

// eachConfirms waits until every order service confirms an order.
func eachConfirms(ctx context.Context, s *system.System) error {
	var confirming errgroup.Group
	for _, service := range s.Orders {
		target := s.Target()
		target.OrderURLs = []string{service.URL()}
		confirming.Go(func() error { return confirms(ctx, "for an order of "+service.Name(), target) })
	}
	return confirming.Wait()
}

// confirms places orders until one is confirmed, for at most recoverWithin.
func confirms(ctx context.Context, what string, target fire.Target) error {
	return await(ctx, recoverWithin, what, func(ctx context.Context) error {
		h, err := fire.Run(ctx, fire.Config{
			Target: target, Orders: 1, Concurrency: 1, Timeout: 4 * time.Second, Mix: fire.Mix{Goods: 1, Stock: 10},
			Plain: true, Patience: time.Second,
		})
		if err == nil && h.Measure().Confirmed == 0 {
			err = fmt.Errorf("not confirmed: %+v", h.Calls)
		}
		return err
	})
}

// awaitServed waits until every order service serves orders again, if earlier runs broke something: a circuit breaker
// may still rest, and a history excuses calls only in the aftermath of acts in its own run.
func (r *Run) awaitServed(ctx context.Context) error {
	broken := r.board != nil && slices.ContainsFunc(r.board.Acts(), func(s Shown) bool { return s.Status != "healed" })
	if broken || r.System.Shaken.IsZero() || r.System.Attached() {
		return nil
	}
	return eachConfirms(ctx, r.System)
}

// settledAfter is the maximum age of an unsettled order while the leader is cut off.
const settledAfter = 10 * time.Second

// Relieved checks that, while the order service that reconciles is cut off, another takes the lead and settles the
// orders.
var Relieved = When(Mending, Unmet, func(ctx context.Context, r *Run) error {
	n, err := older(ctx, r.System, settledAfter)
	if n > 0 {
		r.Violate(Unmet, n, "%d orders are not settled after %s, though another order service reaches the stock", n,
			settledAfter)
	}
	return err
})

// older counts the orders that have been PENDING or CANCELLING for longer than age. A client may cancel an order long
// after it was placed.
func older(ctx context.Context, l *system.System, age time.Duration) (n int, err error) {
	since := time.Now().UTC().Add(-age)
	err = l.OrderDB.QueryRowContext(ctx,
		"SELECT COUNT(*) FROM orders WHERE status = 'PENDING' AND created_at < ? OR status = 'CANCELLING' AND updated_at < ?",
		since, since).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count orders that have not ended: %w", err)
	}
	return n, nil
}

// await calls done until it returns nil, for at most limit. Its error has the last error of done.
func await(ctx context.Context, limit time.Duration, what string, done func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := done(ctx)
		if err == nil {
			return nil
		}
		if e := Sleep(ctx, 50*time.Millisecond); e != nil {
			return fmt.Errorf("wait %s: %w: %w", what, e, err)
		}
	}
}

// awaitReady waits until every replica is ready, and a cluster whole.
func awaitReady(ctx context.Context, l *system.System) error {
	if l.Cluster != nil {
		if err := awaitWhole(ctx, l); err != nil {
			return err
		}
	}
	return await(ctx, 30*time.Second, "until all replicas are ready again", func(ctx context.Context) error {
		for _, r := range l.Replicas() {
			if err := r.Ready(ctx); err != nil {
				return fmt.Errorf("%s: %w", r.Name(), err)
			}
		}
		return nil
	})
}
