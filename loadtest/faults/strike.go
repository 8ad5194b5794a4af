package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"orderstock/loadtest/act"
	"orderstock/loadtest/faults/faultpoint"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
)

// strike is a fault at a named point. It is armed in one replica of the service that passes the point. If only one
// replica passes it and nobody knows which, it is armed in all.
type strike struct {
	trial.Simple
	lab      *system.System
	point    point
	kind     string
	outage   time.Duration
	rule     faultpoint.Rule
	replicas []*system.Service
	target   int // the index of the armed replica; -1 for all

	hangUp   func() // ends the server that a replica calls from its point, and waits for; nil if there is none
	mu       sync.Mutex
	poisoned []*system.Wire
}

func newStrike(l *system.System, p point, c Cell, rng *rand.Rand) *strike {
	s := &strike{lab: l, point: p, kind: c.Fault, outage: cmp.Or(c.Outage, outage), replicas: l.Orders}
	if p.by == stockService {
		s.replicas = l.Stocks
	}
	if s.target = rng.IntN(len(s.replicas)); p.alone {
		s.target = -1
	}
	when := c.When
	switch c.Fault {
	case ReplyLost:
		// The wire goes deaf just before the step, so the step loses its own reply.
		s.rule = faultpoint.Rule{Step: p.step, When: faultpoint.Before, Action: faultpoint.Call, Times: 1}
	case Reset:
		s.rule = faultpoint.Rule{Step: p.step, When: when, Action: faultpoint.Call, Times: 1}
	default:
		s.rule = act.Rule("arm-"+c.Fault, when, p.step)
	}
	s.rule.Skip = rng.IntN(3)
	if p.reach != nil || p.step == faultpoint.CancelFlag || p.step == faultpoint.CancelOrder {
		s.rule.Skip = 0 // few calls pass it
	}
	s.For = 300 * time.Millisecond
	switch c.Fault {
	case Pause:
		s.For = sessionTimeout + 1200*time.Millisecond
	case ReplyLost:
		s.For = stockTimeout + 200*time.Millisecond
	case Delay:
		s.For = 2*stockTimeout + 100*time.Millisecond
	}
	s.Do, s.Undo = s.arm, s.heal
	s.Count = func(context.Context) (int, error) { return l.Fired(s.rule) }
	return s
}

// Reach makes the traffic pass the strike's step from now on. It is called when traffic begins, since an order becomes
// the reconciler's only after a while.
func (s *strike) Reach(ctx context.Context) error {
	for _, r := range s.lab.Orders {
		if s.point.reach == nil {
			break
		}
		if err := r.Arm(ctx, s.point.reach...); err != nil {
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
	for i, r := range s.replicas {
		if s.target >= 0 && s.target != i {
			continue
		}
		rules := []faultpoint.Rule{s.rule}
		if called != "" {
			rules[0].URL = fmt.Sprintf("http://%s/%d", called, i)
		}
		if s.point.by == orderService {
			rules = append(rules, s.point.reach...)
		}
		if err := r.Arm(ctx, rules...); err != nil {
			// If the point is passed at once, the process stops before it answers.
			if n, _ := s.Fired(ctx); n == 0 {
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
		err = s.poison(i)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// poison breaks the step's wire of replica i.
func (s *strike) poison(i int) error {
	wires := s.replicas[i].Wires[s.point.wire]
	if s.point.by == stockService && s.point.wire == system.ToStock { // the wires of its callers
		wires = nil
		for _, r := range s.lab.Orders {
			wires = append(wires, r.Wires[system.ToStock][i])
		}
	}
	s.mu.Lock()
	s.poisoned = append(s.poisoned, wires...)
	s.mu.Unlock()
	var errs []error
	for _, w := range wires {
		if s.kind == ReplyLost {
			errs = append(errs, w.LoseReplies())
		} else {
			errs = append(errs, w.Reset())
		}
	}
	return errors.Join(errs...)
}

// outage is how long connections are refused after a lost reply, unless the cell sets it.
const outage = 300 * time.Millisecond

func (s *strike) heal(ctx context.Context) error {
	if s.hangUp != nil {
		s.hangUp()
		s.hangUp = nil
	}
	var errs []error
	s.mu.Lock()
	if s.kind == ReplyLost { // the connection is lost with the reply, and a new one is refused for a while
		for _, w := range s.poisoned {
			errs = append(errs, w.Cut())
		}
		time.Sleep(s.outage)
	}
	for _, w := range s.poisoned {
		errs = append(errs, w.Mend(ctx))
	}
	s.poisoned = nil
	s.mu.Unlock()
	return errors.Join(append(errs, s.lab.RepairReplicas(ctx))...)
}
