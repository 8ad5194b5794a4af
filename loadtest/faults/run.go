package faults

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/pkg/mysqldb"
)

// Run is one experiment with a cell, and its outcome.
type Run struct {
	Cell Cell   `json:"cell"`
	Seed uint64 `json:"seed"`
	// Outcome is pass, violation or unknown. Why is the reason if it is not pass.
	Outcome verify.Outcome `json:"outcome"`
	Why     []string       `json:"why,omitempty"`
	Counts
	// Traffic is the number of calls in flight while the fault was on, and Cancelled an outcome in the database.
	Traffic   int `json:"traffic"`
	Cancelled int `json:"cancelled"`
	// SettleMS has, for each order that was unfinished at the heal, the time until it finished.
	SettleMS []float64 `json:"settle_ms"`
	// WritesAgainS is the longest time without an acknowledged write after the cluster could heal, in seconds; nil unless
	// the cell is of a cluster.
	WritesAgainS *float64 `json:"writes_again_s,omitempty"`
	// Broken names the failed requirements: the verdict's invariants, and the constants from Settled to Served.
	Broken  []string        `json:"broken,omitempty"`
	Took    time.Duration   `json:"took"`
	Verdict *verify.Verdict `json:"verdict"`

	history *history.History
}

// The requirements of a run apart from the verdict's invariants.
const (
	// Settled: no order is unfinished some seconds after the last fault healed.
	Settled = "settled"
	// FreshOrder: a fresh order is confirmed after the heal.
	FreshOrder = "fresh-order-confirmed"
	// Unmet: a fault of Alone has a demand that was not met, such as the rate of other orders while it lasts.
	Unmet = "unmet"
	// NotGivenUp: an order is cancelled only if a client cancelled it. It holds only if the fault is shorter than the time
	// after which orders are given up.
	NotGivenUp = "not-given-up"
	// WritesAgain: a cluster takes writes again in time.
	WritesAgain = "writes-again"
	// Served: in a rolling restart every order is answered 201, 202 or 409, at once or when its client repeats it.
	Served = "served"
)

func (r *Run) fail(outcome verify.Outcome, format string, args ...any) {
	r.Outcome = r.Outcome.Or(outcome)
	r.Why = append(r.Why, fmt.Sprintf(format, args...))
}

// violate fails the run for n violations of a requirement.
func (r *Run) violate(requirement string, n int, format string, args ...any) {
	r.Violations += n
	r.Broken = append(r.Broken, requirement)
	r.fail(verify.Violation, format, args...)
}

// Once runs one cell in a lab whose services run. Some cells replace load by another.
func Once(ctx context.Context, l *system.System, c Cell, load fire.Config, seed uint64) *Run {
	began := time.Now()
	r := &Run{Cell: c, Seed: seed, Outcome: verify.Pass}
	if err := r.run(ctx, l, load); err != nil {
		r.fail(verify.Unknown, "%v", err)
	}
	r.Took = time.Since(began)
	return r
}

// run takes the run from its traffic to its verdict.
func (r *Run) run(ctx context.Context, l *system.System, load fire.Config) error {
	rng := rand.New(rand.NewPCG(r.Seed, hash(r.Cell.Name())))
	fault := faultOf(l, r.Cell, rng)
	several := load.Mix.Several
	if long, ok := longLoads[r.Cell.Fault]; ok {
		load = long
	}
	if r.Cell.Cluster {
		load = clusterLoad(r.Cell.Fault)
	}
	load.Mix.Several = several
	if s, ok := fault.(*strike); ok {
		if err := s.Reach(ctx); err != nil {
			return err
		}
	}
	t := trial.On(l, complete(load, r.Seed))
	t.Acts = []trial.Timed{{
		At: strikeAt + time.Duration(rng.IntN(200))*time.Millisecond, Act: fault,
		EndsLoad: r.Cell.Fault == RollingRestart,
	}}
	t.Ready = func(ctx context.Context) error { return awaitReady(ctx, l) }
	t.Keep = l.ServicesDir()     // next to the services' logs
	t.Books.Settle = callTimeout // of calls that were never answered: orders have ended by then
	result, err := t.Fire(ctx)
	if err != nil {
		return err
	}
	r.history = result.History
	strike := result.Strikes[0]
	r.judgeStrike(fault, strike)
	if f, ok := fault.(*clustered); ok {
		r.countCluster(f, strike.Healed)
	}
	if err := r.settle(ctx, l, strike.Healed); err != nil {
		return err
	}
	if r.Verdict, err = t.Judge(ctx, r.history); err != nil {
		return err
	}
	if err := r.count(ctx, l); err != nil {
		return err
	}
	if f, ok := fault.(*clustered); ok {
		r.checkReadFrom(f.primary.Addr())
	}
	return r.freshOrder(ctx, l)
}

// judgeStrike fails the run if the fault never struck, if its demands were not met, or if no call was in flight.
func (r *Run) judgeStrike(f trial.Act, s trial.Strike) {
	if s.Fired == 0 && s.Unseen != nil {
		r.Why = append(r.Why, s.Unseen.Error())
	}
	if r.Fired = s.Fired; r.Fired == 0 {
		r.fail(verify.Unknown, "the fault never struck")
	} else if d, ok := f.(*demanding); ok {
		if err := d.unmet(); err != nil {
			r.violate(Unmet, 1, "%v", err)
		}
	}
	on := s.Struck
	if r.Cell.Step == Around { // it strikes while it is armed, which may take as long as a restart
		on = s.Armed
	}
	r.countCalls(on, s.Healed)
}

// countCalls computes the figures of the clients' side. The fault was on until healed.
func (r *Run) countCalls(on, healed time.Time) {
	h := r.history
	told := make([]bool, h.Orders())
	for _, c := range h.Calls {
		if h.Started.Add(c.Done).After(on) && h.Started.Add(c.Sent).Before(healed) {
			r.Traffic++
		}
		switch c.Status {
		case history.Confirmed, history.Rejected, history.Cancelled:
			told[c.Op] = true
		}
	}
	r.Orders = len(told)
	for _, t := range told {
		if !t {
			r.UnknownToClient++
		}
	}
	if r.Traffic == 0 {
		r.fail(verify.Unknown, "no traffic while the fault was on")
	}
}

// countCluster computes how long the cluster took no writes, and fails the run if that was too long.
func (r *Run) countCluster(f *clustered, healed time.Time) {
	again, some := writesAgain(r.history, f.healable)
	if !some {
		r.fail(verify.Unknown, "no write was acknowledged once the cluster could heal, or the traffic was over")
	}
	seconds := again.Seconds()
	if r.WritesAgainS = &seconds; again > writesAgainWithin {
		r.violate(WritesAgain, 1, "no write was acknowledged for %s", again.Round(100*time.Millisecond))
	}
	if r.Cell.Fault == RollingRestart {
		r.countServed(healed)
	}
}

// checkReadFrom fails the run if its verdict was not read from the group's primary, or if the fault moved the primary
// and the verdict was read from the former one, struck.
func (r *Run) checkReadFrom(struck string) {
	switch from := r.Verdict.ReadFrom; {
	case from == "":
		r.fail(verify.Unknown, "the verdict was not read from a primary")
	case from == struck && slices.Contains(movesPrimary, r.Cell.Fault):
		r.fail(verify.Unknown, "the verdict was read from %s, which was the primary before the fault", from)
	}
}

// countServed counts the orders that were not served at once. It fails the run if an order failed or has no outcome, or
// if the traffic was over before healed, when the last process had been restarted.
func (r *Run) countServed(healed time.Time) {
	if r.history.Started.Add(r.history.Elapsed).Before(healed) {
		r.fail(verify.Unknown, "the traffic was over before all was restarted")
	}
	ended := map[int32]bool{}
	for _, c := range r.history.Calls {
		ended[c.Op] = ended[c.Op] || c.Kind.Places() && served(c)
	}
	var failed []history.Call
	for _, c := range r.history.Calls {
		if c.Kind != history.Place || served(c) {
			continue
		}
		switch {
		case !c.Unserved() || !ended[c.Op]:
			failed = append(failed, c)
		case c.Failure == history.Answered:
			r.Retried503++
		default:
			r.RetriedLost++
		}
	}
	if len(failed) > 0 {
		r.violate(Served, len(failed), "%d orders failed, such as %+v", len(failed), failed[0])
	}
}

// served reports whether an order has an answer that every order must get in the end: 201, 202 or 409.
func served(c history.Call) bool {
	return c.Failure == history.Answered &&
		(c.Code == http.StatusCreated || c.Code == http.StatusAccepted || c.Code == http.StatusConflict)
}

// count computes the figures of the verdict.
func (r *Run) count(ctx context.Context, l *system.System) error {
	v := r.Verdict
	r.OK, r.Rejected, r.Cancelled = v.Confirmed, v.Rejected, v.Cancelled
	for _, i := range v.Invariants {
		if i.Violations > 0 {
			r.violate(i.Name, i.Violations, "%s: %d, such as %v", i.Name, i.Violations, i.Sample[0])
		}
	}
	for _, reason := range v.Reasons {
		r.fail(verify.Unknown, "%s", reason)
	}
	return r.countGivenUp(ctx, l)
}

// countGivenUp counts the CANCELLED orders that no client cancelled.
func (r *Run) countGivenUp(ctx context.Context, l *system.System) error {
	cancelled, err := mysqldb.All(ctx, l.OrderDB, mysqldb.One[string],
		"SELECT idempotency_key FROM orders WHERE status = 'CANCELLED' AND LOWER(idempotency_key) LIKE ?", r.history.Run+"-%")
	if err != nil {
		return fmt.Errorf("read cancelled orders: %w", err)
	}
	asked := map[string]bool{}
	for _, c := range r.history.Calls {
		if c.Kind == history.Cancel {
			asked[r.history.Key(int(c.Op))] = true
		}
	}
	r.GivenUp = len(slices.DeleteFunc(cancelled, func(key string) bool { return asked[key] }))
	return nil
}

// freshOrder places orders until one is confirmed at once: the system works again.
func (r *Run) freshOrder(ctx context.Context, l *system.System) error {
	limit := time.Now().Add(recoverWithin)
	for {
		h, err := fireOne(ctx, l.Target())
		if err != nil {
			return fmt.Errorf("place fresh order: %w", err)
		}
		if h.Measure().Confirmed == 1 {
			return nil
		}
		if time.Now().After(limit) {
			r.violate(FreshOrder, 1, "a fresh order is not confirmed: %+v", h.Calls)
			return nil
		}
	}
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // never fails
	return h.Sum64()
}
