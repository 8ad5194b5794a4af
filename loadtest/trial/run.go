package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

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

	declared    []string // see Declare
	show        Show
	stage       *Stage // nil for none
	pace        pace
	stopRepeats func() // see Repeated
	primary     string // of the cluster, before the fault
}

// run takes the run from its traffic to its verdict.
func (r *Run) run(ctx context.Context) error {
	e := r.Experiment
	for _, a := range e.Acts {
		if err := a.reach(ctx, r.System); err != nil {
			return err
		}
	}
	t, closeFront, err := r.trial()
	if err != nil {
		return err
	}
	defer closeFront()
	defer func() { r.stopRepeats() }()
	r.show("phase", Firing)
	var others errgroup.Group
	verdicts := make([]*verify.Verdict, max(e.Loads, 1)-1)
	for i := range verdicts {
		others.Go(func() (err error) {
			verdicts[i], err = r.another(ctx, uint64(i+1))
			return err
		})
	}
	result, err := t.Fire(ctx)
	if err != nil {
		return errors.Join(err, others.Wait())
	}
	r.History, r.Strikes = result.History, result.Strikes
	r.judgeStrikes()
	r.show("phase", Settling)
	if r.stage != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if err := r.check(ctx, Sent); err != nil {
		return err
	}
	if t.Books.Declared = r.declared; r.stage != nil {
		t.Books.Declared = append(r.stage.Declared(), r.declared...)
	}
	if r.Verdict, err = t.Judge(ctx, r.History); err != nil {
		return err
	}
	if err := others.Wait(); err != nil {
		return err
	}
	for _, v := range verdicts {
		r.judge(v)
	}
	r.judge(r.Verdict)
	if err := r.countGivenUp(ctx); err != nil {
		return err
	}
	if err := r.check(ctx, Judged); err != nil {
		return err
	}
	r.addToVerdict()
	return nil
}

// Declare gives the verdict the key of an order that a check places.
func (r *Run) Declare(key string) { r.declared = append(r.declared, key) }

// trial returns the run's load and acts, with the front before the services.
func (r *Run) trial() (t Trial, closeFront func(), err error) {
	e := r.Experiment
	t = On(r.System, e.load(r.Seed))
	t.Acts = e.Timed(r.System, r.Seed)
	for i := range t.Acts {
		t.Acts[i].Watch = func(ctx context.Context, m Moment) error {
			if m == Intact {
				r.show("act", t.Acts[i].Action.Words())
			}
			if i > 0 {
				return nil
			}
			return r.check(ctx, m)
		}
	}
	t.Load.Live, t.Least = r.Live, e.Least
	t.Books.Settled = func(time.Duration) { r.show("phase", Judging) }
	t.Ready = func(ctx context.Context) error { return awaitReady(ctx, r.System) }
	if e.Ready != nil {
		t.Ready = func(ctx context.Context) error { return e.Ready(ctx, r) }
	}
	t.Keep = r.System.ServicesDir() // next to the services' logs
	if e.Settle > 0 {
		t.Books.Settle = e.Settle
	}
	if r.stage != nil {
		r.open(&t)
	}
	if e.Services.Front == nil {
		return t, func() {}, nil
	}
	t.Load.Target, closeFront, err = e.Services.Front(t.Load.Target)
	return t, closeFront, err
}

// open lets others break and heal things during the trial. All is healed once its acts are over.
func (r *Run) open(t *Trial) {
	board := r.stage.Board
	t.Load.Disturbed, t.Ready = true, nil
	if !r.System.Attached() {
		t.Mend = func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			return board.Heal(ctx)
		}
	}
	for i := range t.Acts {
		a, id, check := &t.Acts[i], "", t.Acts[i].Watch
		a.Action.Optional, a.Over = true, func() bool { return board.over(id) }
		a.Watch = func(ctx context.Context, m Moment) error {
			if m == Armed {
				id = board.add(ctx, a.Action, a.Act, false)
			} else {
				board.Read(ctx)
			}
			return check(ctx, m)
		}
	}
}

// another fires and judges load n at the same time.
func (r *Run) another(ctx context.Context, n uint64) (*verify.Verdict, error) {
	if err := Sleep(ctx, time.Duration(n)*50*time.Millisecond); err != nil { // products are named by the time
		return nil, err
	}
	t := On(r.System, r.Experiment.load(r.Seed+n))
	t.Load.Disturbed = true
	result, err := t.Run(ctx)
	if err != nil {
		return nil, err
	}
	return result.Verdict, nil
}

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
	if len(r.Strikes) == 0 {
		r.countCalls(time.Time{}, time.Time{})
		return
	}
	var on, healed time.Time
	needed := false
	for i, s := range r.Strikes {
		r.sayStrike(r.Experiment.Acts[i], s)
		needed = needed || !r.Experiment.Acts[i].Optional
		from := s.Struck
		if r.Experiment.Acts[i].Step == "" { // it strikes while it is armed, which may take as long as a restart
			from = s.Armed
		}
		if on.IsZero() || from.Before(on) {
			on = from
		}
		if s.Healed.After(healed) {
			healed = s.Healed
		}
		if s.Fired == 0 && s.Unseen != nil {
			r.Why = append(r.Why, s.Unseen.Error())
		}
	}
	if r.Fired = fired(r.Experiment.Acts, r.Strikes); r.Fired == 0 && needed {
		r.fail(verify.Unknown, "the fault never struck")
	}
	if r.countCalls(on, healed); r.Traffic == 0 && needed {
		r.fail(verify.Unknown, "no traffic while the fault was on")
	}
}

// sayStrike says that an act failed, did not begin or did not strike.
func (r *Run) sayStrike(a Action, s Strike) {
	switch {
	case errors.Is(s.Err, ErrOver):
		r.show("log", "not brought about, as the run was over before: "+a.Words())
	case s.Err != nil:
		r.show("log", fmt.Sprintf("%s: %v", a.Words(), s.Err))
	case s.Fired == 0:
		r.show("log", "never struck: "+a.Words())
	}
}

// fired returns how often the faults of the acts have struck: 0 until each has, and then the smallest of their counts.
// A fault has struck as often as its act that struck most: a replica that is killed does not use its wire.
func fired(acts []Action, strikes []Strike) int {
	of := map[string]int{}
	for i, a := range acts {
		fault := a.Fault
		if fault == "" {
			fault = fmt.Sprint(i)
		}
		of[fault] = max(of[fault], strikes[i].Fired)
	}
	least := math.MaxInt
	for _, n := range of {
		least = min(least, n)
	}
	return least
}

// healed returns when the last act was healed.
func (r *Run) healed() (last time.Time) {
	for _, s := range r.Strikes {
		if s.Healed.After(last) {
			last = s.Healed
		}
	}
	return last
}

// countGivenUp counts the CANCELLED orders that no client cancelled, unless the databases are out of reach.
func (r *Run) countGivenUp(ctx context.Context) error {
	if r.System.OrderDB == nil {
		return nil
	}
	cancelled, err := mysqldb.All(ctx, r.System.OrderDB, mysqldb.One[string],
		"SELECT idempotency_key FROM orders WHERE status = 'CANCELLED' AND LOWER(idempotency_key) LIKE ?", r.History.Run+"-%")
	if err != nil {
		return fmt.Errorf("read cancelled orders: %w", err)
	}
	asked := map[string]bool{}
	for _, c := range r.History.Calls {
		if c.Kind == history.Cancel {
			asked[r.History.Key(int(c.Op))] = true
		}
	}
	r.GivenUp = len(slices.DeleteFunc(cancelled, func(key string) bool { return asked[key] }))
	return nil
}
