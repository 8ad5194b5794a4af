package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/system"
)

// Point is the place of a step of the protocol.
type Point struct {
	// By is the service whose process passes it, and Wire the connection that its call uses.
	By   system.Kind
	Wire string
}

// Points has the steps, and two places within a step.
var Points = map[faultpoint.Step]Point{
	faultpoint.InsertOrder: {system.Order, system.ToMySQL},
	faultpoint.SetFlag:     {system.Order, system.ToRedis},
	faultpoint.CallStock:   {system.Order, system.ToStock},
	faultpoint.TakeFlag:    {system.Stock, system.ToRedis},
	faultpoint.LookupFlow:  {system.Stock, system.ToMySQL},
	faultpoint.AcquireLock: {system.Stock, system.ToZooKeeper},
	faultpoint.UpdateStock: {system.Stock, system.ToMySQL},
	faultpoint.InsertFlow:  {system.Stock, system.ToMySQL},
	faultpoint.Commit:      {system.Stock, system.ToMySQL},
	faultpoint.ReleaseLock: {system.Stock, system.ToZooKeeper},
	faultpoint.Reply:       {system.Stock, system.ToStock},
	faultpoint.Confirm:     {system.Order, system.ToStock},
	faultpoint.SetStatus:   {system.Order, system.ToMySQL},
	faultpoint.CancelFlag:  {system.Order, system.ToStock},
	faultpoint.CancelOrder: {system.Order, system.ToMySQL},
	faultpoint.Reconcile:   {system.Order, system.ToStock},

	faultpoint.NextLock:    {system.Stock, system.ToZooKeeper}, // the process holds one lock and asks for the next
	faultpoint.InsertItems: {system.Order, system.ToMySQL},
}

// strike strikes at a step, in one replica, or in all if only one passes the step and nobody knows which.
type strike struct {
	lab      *system.System
	action   Action
	point    Point
	rule     faultpoint.Rule
	replicas []*system.Service

	hangUp   func() // ends the server that a replica calls from its point, and waits for; nil if there is none
	mu       sync.Mutex
	poisoned []*system.Wire
}

// arm strikes by a rule at the action's step in replicas.
func arm(rule faultpoint.Rule) maker {
	return func(l *system.System, a Action) *Act {
		s := &strike{lab: l, action: a, rule: rule}
		s.rule.Step, s.rule.Skip, s.rule.Outlast = faultpoint.Step(a.Step), a.skip, a.Outlast
		s.rule.When = cmp.Or(rule.When, faultpoint.When(a.When))
		return &Act{
			find: s.find, Do: s.arm, Undo: s.heal, On: s.on,
			Count: func(context.Context) (int, error) { return l.Fired(s.rule) },
		}
	}
}

// find finds the replicas and the point.
func (s *strike) find(context.Context) (err error) {
	if s.replicas, err = find("replica", s.lab.Replicas(), s.action.Target); err != nil {
		return err
	}
	point, known := Points[s.rule.Step]
	if s.point = point; !known {
		return invalid("there is no step %q", s.action.Step)
	}
	if !s.action.atStep() {
		return invalid("when %q: want before or after", s.action.When)
	}
	return nil
}

// on reports whether a replica is away, may still be struck, or has a connection that was.
func (s *strike) on(ctx context.Context) bool {
	s.mu.Lock()
	poisoned := slices.ContainsFunc(s.poisoned, (*system.Wire).Broken)
	s.mu.Unlock()
	return poisoned || slices.ContainsFunc(s.replicas, func(r *system.Service) bool {
		if system.Away(r) {
			return true
		}
		rules, err := r.Armed(ctx)
		return err != nil || slices.ContainsFunc(rules, s.is)
	})
}

// is reports whether a rule is the strike's.
func (s *strike) is(r faultpoint.Rule) bool {
	return r.Step == s.rule.Step && r.When == s.rule.When && r.Action == s.rule.Action
}

// taken returns an error if another strike is armed in a replica, which keeps one list of rules.
func (s *strike) taken(ctx context.Context, r *system.Service) error {
	rules, _ := r.Armed(ctx) // else it cannot be armed, either
	for _, rule := range rules {
		if !slices.ContainsFunc(s.action.Reach, func(own faultpoint.Rule) bool {
			return own.Step == rule.Step && own.When == rule.When
		}) {
			return conflict("a fault is armed already: %s %s %s; a replica keeps one, so heal first", rule.Action, rule.When,
				rule.Step)
		}
	}
	return nil
}

// reach makes the traffic pass the action's step from now on. It is called when traffic begins, since an order becomes
// the reconciler's only after a while.
func (a Action) reach(ctx context.Context, l *system.System) error {
	for _, r := range l.Orders {
		if len(a.Reach) == 0 {
			break
		}
		if err := r.Arm(ctx, a.Reach...); err != nil {
			return err
		}
	}
	return nil
}

func (s *strike) arm(ctx context.Context) (err error) {
	called := ""
	if s.rule.Action == faultpoint.Call {
		if called, s.hangUp, err = system.Serve(http.HandlerFunc(s.answer)); err != nil {
			return err
		}
	}
	before, _ := s.lab.Fired(s.rule)
	for i, r := range s.replicas {
		if err := s.taken(ctx, r); err != nil {
			return err
		}
		rules := []faultpoint.Rule{s.rule}
		if called != "" {
			rules[0].URL = fmt.Sprintf("http://%s/%d", called, i)
		}
		if s.point.By == system.Order { // one replica has one list
			rules = append(rules, s.action.Reach...)
		}
		if err := r.Arm(ctx, rules...); err != nil {
			// If the point is passed at once, the process stops before it answers.
			if n, _ := s.lab.Fired(s.rule); n <= before {
				return err
			}
		}
	}
	return nil
}

// answer is called by the replica whose number is the path, while it waits at the point.
func (s *strike) answer(w http.ResponseWriter, r *http.Request) {
	i, err := strconv.Atoi(r.URL.Path[1:])
	if err == nil {
		err = s.poison(s.replicas[i])
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// poison breaks the step's wires of a replica.
func (s *strike) poison(r *system.Service) error {
	wires := r.Wires[s.point.Wire]
	if s.point.By == system.Stock && s.point.Wire == system.ToStock { // the wires of its callers
		wires = nil
		for _, caller := range s.lab.Orders {
			wires = append(wires, caller.Wires[system.ToStock][slices.Index(s.lab.Stocks, r)])
		}
	}
	s.mu.Lock()
	s.poisoned = append(s.poisoned, wires...)
	s.mu.Unlock()
	var errs []error
	for _, w := range wires {
		if s.losesReply() {
			errs = append(errs, w.LoseReplies())
		} else {
			errs = append(errs, w.Reset())
		}
	}
	return errors.Join(errs...)
}

func (s *strike) losesReply() bool { return s.action.Action == "arm-reply-lost" }

// outlastWithin bounds how long a pause goes on for others.
const outlastWithin = 20 * time.Second

// otherStocks are the stock services that are not struck.
func (s *strike) otherStocks() []*system.Service {
	return slices.DeleteFunc(slices.Clone(s.lab.Stocks), func(r *system.Service) bool {
		return slices.Contains(s.replicas, r)
	})
}

// holdOtherStocks arms the other stock services with OtherStocks, and waits until all of that has struck.
func (s *strike) holdOtherStocks(ctx context.Context) error {
	for _, r := range s.otherStocks() {
		if err := r.Arm(ctx, s.action.OtherStocks...); err != nil {
			return err
		}
	}
	return await(ctx, outlastWithin, "for another replica", func(ctx context.Context) error {
		for _, r := range s.otherStocks() {
			if left, err := r.Armed(ctx); err != nil || len(left) > 0 {
				return errors.Join(err, fmt.Errorf("%d points of %s have not struck", len(left), r.Name()))
			}
		}
		return nil
	})
}

// nextWithin is how long the next holder of a lock may take to commit.
const nextWithin = 5 * time.Second

// freeOtherStocks ends OtherStocks once the replicas that slept have done the step before which they did, and another
// stock service has committed since, if that lets one.
func (s *strike) freeOtherStocks(ctx context.Context) error {
	commits, err := passed(ctx, s.otherStocks(), faultpoint.Commit, faultpoint.After)
	done := 0
	err = errors.Join(err, await(ctx, outlastWithin, "for the step", func(ctx context.Context) (err error) {
		if done == 0 {
			if done, err = passed(ctx, s.replicas, s.rule.Step, faultpoint.Before); err != nil {
				return err
			}
		}
		return didPass(ctx, s.replicas, s.rule.Step, done)
	}))
	_ = await(ctx, nextWithin, "for a commit", func(ctx context.Context) error { // there is none if nothing is broken
		return didPass(ctx, s.otherStocks(), faultpoint.Commit, commits+1)
	})
	for _, r := range s.otherStocks() {
		err = errors.Join(err, r.Disarm(ctx))
	}
	return err
}

// didPass returns an error unless the services have passed a step that many times.
func didPass(ctx context.Context, services []*system.Service, step faultpoint.Step, times int) error {
	n, err := passed(ctx, services, step, faultpoint.After)
	if err == nil && n < times {
		err = fmt.Errorf("%s was passed %d times, want %d", step, n, times)
	}
	return err
}

// passed counts how often the services have come to one side of a step.
func passed(
	ctx context.Context, services []*system.Service, step faultpoint.Step, when faultpoint.When,
) (n int, err error) {
	for _, r := range services {
		reached, failed := r.Reached(ctx)
		n, err = n+reached[string(step)+"/"+string(when)], errors.Join(err, failed)
	}
	return n, err
}

// holds reports whether a rule of OtherStocks holds them until they are freed.
func (s *strike) holds() bool {
	return slices.ContainsFunc(s.action.OtherStocks, func(r faultpoint.Rule) bool { return r.Action == faultpoint.Hold })
}

// mend mends the wires that were struck. If ctx ends, it does so at once.
func (s *strike) mend(ctx context.Context) error {
	s.mu.Lock()
	poisoned := s.poisoned
	s.mu.Unlock()
	var errs []error
	if s.losesReply() { // the connection is lost with the reply, and a new one is refused for a while
		for _, w := range poisoned {
			errs = append(errs, w.Cut())
		}
		_ = Sleep(ctx, s.action.Outage)
	}
	for _, w := range poisoned {
		errs = append(errs, w.Mend(context.WithoutCancel(ctx)))
	}
	s.mu.Lock()
	s.poisoned = nil
	s.mu.Unlock()
	return errors.Join(errs...)
}

func (s *strike) heal(ctx context.Context) error {
	if s.hangUp != nil {
		s.hangUp()
		s.hangUp = nil
	}
	var errs []error
	asleep := slices.ContainsFunc(s.replicas, func(r *system.Service) bool { return r.Paused() })
	if asleep && len(s.action.OtherStocks) > 0 {
		errs = append(errs, s.holdOtherStocks(ctx))
	}
	errs = append(errs, s.mend(ctx))
	if len(s.action.Reach) > 0 {
		return errors.Join(append(errs, s.lab.RepairReplicas(ctx))...)
	}
	for _, r := range s.replicas {
		errs = append(errs, system.Repair(ctx, r))
	}
	if asleep && s.holds() {
		errs = append(errs, s.freeOtherStocks(ctx))
	}
	return errors.Join(errs...)
}
