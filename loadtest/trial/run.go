package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/verify"
	"orderstock/pkg/mysqldb"
)

// Run is a run of an experiment in progress.
type Run struct {
	*Result
	Experiment Experiment
	System     *system.System
	// Live counts the calls of the load.
	Live *fire.Live

	load  fire.Config
	ready func(context.Context) error // called after each heal; may be nil
	mend  func(context.Context) error // called after the acts, heals everything else; may be nil

	declared    []string // see Declare
	show        Watch
	board       *Board // nil if nobody else breaks anything
	stopRepeats func() // see Repeated
	primary     string // of the cluster, before the fault
}

// run takes the run from its traffic to its verdict.
func (r *Run) run(ctx context.Context) error {
	e := r.Experiment
	if err := r.awaitServed(ctx); err != nil {
		return err
	}
	for _, a := range e.Acts {
		if err := a.reach(ctx, r.System); err != nil {
			return err
		}
	}
	defer func() { r.stopRepeats() }()
	r.show("phase", Firing)
	if err := r.fire(ctx); err != nil {
		return err
	}
	r.judgeStrikes()
	r.show("phase", Settling)
	asked := ctx
	if r.board != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if err := r.check(ctx, Sent); err != nil {
		return err
	}
	if r.board != nil {
		r.declared = append(r.board.Declared(), r.declared...)
	}
	var keep *verify.Tables
	if r.board == nil {
		r.evidence.Declared, keep = r.declared, &r.evidence.Tables
	}
	var err error
	if r.Verdict, err = r.System.Judge(ctx, verify.Config{
		History: r.History, Terms: verify.Terms{Declared: r.declared}, Settle: e.Settle, Keep: keep,
		Settled: func(time.Duration) { r.show("phase", Judging) },
	}); err != nil {
		return err
	}
	r.judge(r.Verdict)
	if err := r.readEnds(ctx); err != nil {
		return err
	}
	if err := r.check(ctx, Judged); err != nil {
		return err
	}
	if fire.Interrupted(asked) && !r.History.Interrupted {
		r.fail(verify.Unknown, "interrupted while the run was judged")
	}
	r.addToVerdict()
	return nil
}

// Declare gives the verdict the key of an order that a check places.
func (r *Run) Declare(key string) { r.declared = append(r.declared, key) }

// begin prepares a run. watch and board may be nil. The seed decides the replica that is struck, and the arrival.
func (e Experiment) begin(s *system.System, seed uint64, watch Watch, board *Board) *Run {
	if watch == nil {
		watch = func(string, any) {}
	}
	r := &Run{
		Result: &Result{Experiment: e.Name, Seed: seed, Outcome: verify.Pass}, Experiment: e, System: s, load: e.load(seed),
		show: watch, board: board, Live: cmp.Or(e.Load.Live, &fire.Live{}), stopRepeats: func() {},
	}
	if r.load.Live = r.Live; len(r.load.OrderURLs)+len(r.load.StockURLs) == 0 {
		r.load.Target = s.Target()
	}
	r.ready = func(ctx context.Context) error { return awaitReady(ctx, s) }
	if e.Ready != nil {
		r.ready = func(ctx context.Context) error { return e.Ready(ctx, r) }
	}
	name := fnv.New64a()
	_, _ = name.Write([]byte(e.Name)) // never fails
	rng := rand.New(rand.NewPCG(seed, name.Sum64()))
	for _, a := range inOrder(e.Acts) {
		r.Acts = append(r.Acts, New(s, a.drawn(rng)))
	}
	if board != nil {
		r.ready = nil
		if s.Attached() { // nobody knows when others break something there
			r.load.Disturbed = true
		} else {
			r.mend = board.Heal
		}
	}
	return r
}

// watch follows an act at each of its moments.
func (r *Run) watch(ctx context.Context, a *Act, m Moment) error {
	if r.board != nil {
		if m == Armed {
			r.board.add(ctx, a, r.board.SinceMS(), false)
		} else {
			r.board.Read(ctx)
		}
	}
	if m == Intact {
		r.show("act", a.Action.Words())
	}
	if a != r.Acts[0] {
		return nil
	}
	return r.check(ctx, m)
}

// over reports whether somebody else has healed the act.
func (r *Run) over(a *Act) bool { return r.board != nil && r.board.over(a) }

// optional reports whether the run goes on if the act fails.
func (r *Run) optional(a *Act) bool { return r.board != nil || a.Action.Optional }

// check makes the checks of a moment.
func (r *Run) check(ctx context.Context, m Moment) error {
	for _, c := range r.Experiment.Checks {
		if err := c.At(ctx, r, m); err != nil {
			return err
		}
	}
	return nil
}

// judgeStrikes counts the strikes. The run proves nothing if a fault never struck, or if no call was in flight
// while it lasted.
func (r *Run) judgeStrikes() {
	if len(r.Acts) == 0 {
		r.countCalls(time.Time{}, time.Time{})
		return
	}
	var on, healed time.Time
	needed := false
	for _, s := range r.Acts {
		r.sayStrike(s)
		needed = needed || !s.Action.Optional
		if from := s.begun(); on.IsZero() || from.Before(on) {
			on = from
		}
		if s.Healed.After(healed) {
			healed = s.Healed
		}
		if s.Fired == 0 && s.Unseen != nil {
			r.Why = append(r.Why, s.Unseen.Error())
		}
	}
	if r.Fired = fired(r.Acts); r.Fired == 0 && needed {
		r.fail(verify.Unknown, "the fault never struck")
	}
	if r.countCalls(on, healed); r.Traffic == 0 && needed {
		r.fail(verify.Unknown, "no traffic while the fault was on")
	}
}

// sayStrike says that an act failed, did not begin or did not strike.
func (r *Run) sayStrike(a *Act) {
	switch {
	case errors.Is(a.Err, ErrOver):
		r.show("log", "not brought about, as the run was over before: "+a.Action.Words())
	case a.Err != nil:
		r.show("log", fmt.Sprintf("%s: %v", a.Action.Words(), a.Err))
	case a.Fired == 0:
		r.show("log", "never struck: "+a.Action.Words())
	}
}

// fired returns how often the faults of the acts have struck: 0 until each has, and then the smallest of their counts.
// A fault has struck as often as its act that struck most: a replica that is killed does not use its wire.
func fired(acts []*Act) int {
	of := map[string]int{}
	for i, a := range acts {
		fault := cmp.Or(a.Action.Fault, fmt.Sprint(i))
		of[fault] = max(of[fault], a.Fired)
	}
	least := math.MaxInt
	for _, n := range of {
		least = min(least, n)
	}
	return least
}

// healed returns when the last act was healed.
func (r *Run) healed() (last time.Time) {
	for _, s := range r.Acts {
		if s.Healed.After(last) {
			last = s.Healed
		}
	}
	return last
}

// readEnds counts the CANCELLED orders that no client cancelled, and notes how long after the last heal the orders
// ended that were placed before it and not cancelled after it, unless the databases are out of reach.
func (r *Run) readEnds(ctx context.Context) error {
	if r.System.OrderDB == nil {
		return nil
	}
	healed, asked := cmp.Or(r.healed(), time.Now()), map[string]time.Time{} // when an order was first cancelled
	for _, c := range slices.Backward(r.History.Calls) {
		if c.Kind == history.Cancel {
			asked[r.History.Key(int(c.Op))] = r.History.Started.Add(c.Sent)
		}
	}
	type end struct {
		key, status string
		at          time.Time
	}
	for e, err := range mysqldb.Rows(ctx, r.System.OrderDB, func(e *end) []any { return []any{&e.key, &e.status, &e.at} },
		"SELECT idempotency_key, status, updated_at FROM orders WHERE LOWER(idempotency_key) LIKE ?"+
			" AND (status = 'CANCELLED' OR created_at < ? AND updated_at > ?)", r.History.Run+"%", healed, healed) {
		if err != nil {
			return fmt.Errorf("read orders' ends: %w", err)
		}
		if !r.History.IsRuns([]byte(e.key)) {
			continue
		}
		at, cancelled := asked[e.key]
		if e.status == "CANCELLED" && !cancelled {
			r.GivenUp++
		}
		if e.at.After(healed) && at.Before(healed) {
			r.SettleMS = append(r.SettleMS, float64(e.at.Sub(healed).Milliseconds()))
		}
	}
	return nil
}
