package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"orderstock/loadtest/verify"
)

// Smallest is the smallest load that has shown a violation.
type Smallest struct {
	Phase     string `json:"phase"`
	Invariant string `json:"invariant"`
	Orders    int    `json:"orders"`
	Clients   int    `json:"clients"`
	Seed      uint64 `json:"seed"`
	// Command runs it.
	Command string `json:"command"`
}

// Search judges a shop with one seed after another, for at most the time within, until something is found. Then, for at
// most that time again, it looks for the fewest clients and orders that still violate the same invariant. The result is
// the last run with a violation, or the last run. An unknown run ends the search. Of the smaller loads, Config.Done
// gets the phases of the smallest. An error means the same as one of Run; a search keeps no evidence.
func Search(ctx context.Context, cfg Config, within time.Duration) (*Result, error) {
	if cfg.Out != "" {
		return nil, errors.New("the evidence of a search is not kept: run the smallest load, which it prints, with --out")
	}
	cfg.Seed, cfg.Clients = cmp.Or(cfg.Seed, 1), cmp.Or(cfg.Clients, defaultClients)
	s := search{cfg: cfg, deadline: time.Now().Add(within)}
	for {
		r, err := s.run(ctx)
		if err != nil {
			return nil, err
		}
		if r.Outcome == verify.Violation {
			s.deadline = time.Now().Add(within)
			s.cfg.Done = nil // a smaller load that finds nothing is no news
			if err := s.shrink(ctx, r); err != nil && ctx.Err() == nil {
				return nil, err
			}
			if cfg.Done != nil && s.last != r {
				for _, p := range s.last.Phases {
					cfg.Done(p)
				}
			}
			break // also if it was interrupted: something is found
		}
		if s.last = r; r.Outcome == verify.Unknown || !time.Now().Before(s.deadline) {
			break
		}
	}
	s.last.Runs = s.runs
	if small := s.last.Smallest; small != nil {
		small.Command = fmt.Sprintf("%s %s --phase %s --orders %d --clients %d --seed %d",
			cmp.Or(cfg.Program, "judge"), cfg.Name, small.Phase, small.Orders, small.Clients, small.Seed)
	}
	return s.last, nil
}

// search is a search in progress.
type search struct {
	cfg      Config // with the seed of the next run
	deadline time.Time
	runs     int
	last     *Result
}

// run runs the judge with the next seed.
func (s *search) run(ctx context.Context) (*Result, error) {
	s.runs++
	r, err := Run(ctx, s.cfg)
	s.cfg.Seed++
	return r, err
}

// shrink looks for the smallest load that still shows the first violation of a result.
func (s *search) shrink(ctx context.Context, found *Result) error {
	i := slices.IndexFunc(found.Phases, func(p Phase) bool { return len(p.Violations) > 0 })
	p := &found.Phases[i]
	best := &Smallest{
		Phase: p.Name, Invariant: p.Violations[0].Invariant, Orders: p.Orders,
		Clients: cmp.Or(p.Clients, s.cfg.Clients), Seed: found.Seed,
	}
	if p.Clients > 0 {
		best.Phase = Together // with fewer clients
	}
	s.last, found.Smallest = found, best
	s.cfg.Phases = []string{best.Phase}
	for clients := 2; clients < best.Clients && best.Phase != Alone; clients *= 2 {
		if seen, err := s.seen(ctx, best.Orders, clients); err != nil {
			return err
		} else if seen {
			break
		}
	}
	for below, above := 0, best.Orders; above-below > 1; {
		middle := (below + above) / 2
		seen, err := s.seen(ctx, middle, s.last.Smallest.Clients)
		if err != nil {
			return err
		}
		if seen {
			above = middle
		} else {
			below = middle
		}
	}
	return nil
}

// attempts is how often a smaller load is tried, as a race may not happen each time.
const attempts = 3

// seen reports whether the violation is there with a load, and keeps that run as the last. It is not there if the time
// is over.
func (s *search) seen(ctx context.Context, orders, clients int) (bool, error) {
	s.cfg.Orders, s.cfg.Clients = orders, clients
	for range attempts {
		if !time.Now().Before(s.deadline) {
			return false, nil
		}
		r, err := s.run(ctx)
		if err != nil {
			return false, err
		}
		best := *s.last.Smallest
		for i := range r.Phases {
			p := &r.Phases[i]
			if slices.Contains(p.Violated(), best.Invariant) {
				best.Orders, best.Clients, best.Seed = orders, cmp.Or(p.Clients, clients), r.Seed
				s.last, r.Smallest = r, &best
				return true, nil
			}
		}
	}
	return false, nil
}

// Met is another order: one of its calls overlapped a call of an example.
type Met struct {
	Key    string `json:"key"`
	Basket string `json:"basket"`
	Calls  []Call `json:"calls"`
}

// meet returns the other order for the same product with the call that overlapped a call of the order for the longest
// time, first among cancels, then among calls that order, then among accepted ones, or nil. Calls of the order that
// overlap each other are the ones that met. The commands send the orders that met again. With the limit of a buyer,
// both orders are of the same buyer.
func (e *Evidence) meet(o *Order, limit bool) (met *Met, commands string) {
	products := map[string]bool{}
	for _, it := range o.Basket {
		products[it.Product] = true
	}
	rank := func(c Call) (both time.Duration) {
		for _, own := range o.Calls {
			overlap := min(own.Done, c.Done) - max(own.Sent, c.Sent)
			switch a, b := own.Kind == Cancel, c.Kind == Cancel; {
			case overlap <= 0:
			case a && b:
				overlap += withCancel + 2*time.Hour
			case a || b:
				overlap += withCancel
			case own.Kind.orders() && c.Kind.orders():
				overlap += 2 * time.Hour
			}
			both = max(both, overlap)
		}
		if both > 0 && c.Order != "" {
			both += time.Hour
		}
		return both
	}
	own := filter(o.Calls, func(c Call) bool { // a step that was refused has changed nothing
		return c.Kind != Race || c.Failure == "" && c.Status < http.StatusBadRequest
	})
	for i, c := range own {
		for _, other := range own[i+1:] {
			if min(c.Done, other.Done) > max(c.Sent, other.Sent) {
				if c.Kind.orders() && other.Kind.orders() {
					commands = atOnce(o, o)
				}
				return nil, commands
			}
		}
	}
	var most time.Duration
	var with *Order
	var kind Kind
	shared := func(it Item) bool { return products[it.Product] }
	for _, other := range e.Orders {
		if other == o || limit && other.Buyer != o.Buyer || !slices.ContainsFunc(other.Basket, shared) {
			continue
		}
		for _, c := range other.Calls {
			if r := rank(c); r > most && c.Kind != Buyer {
				with, most, kind = other, r, c.Kind
			}
		}
	}
	if with == nil {
		return nil, ""
	}
	if kind.orders() && most < withCancel {
		commands = atOnce(o, with)
	}
	return &Met{with.Key, with.basket(), withoutAnswers(with.Calls)}, commands
}

// withCancel ranks a cancel and the call that it met before others.
const withCancel = 4 * time.Hour

// atOnce returns commands of the shell that send two orders at the same time.
func atOnce(a, b *Order) string {
	if a.Request == nil || b.Request == nil {
		return ""
	}
	return a.Request.Curl() + " &\n" + b.Request.Curl() + " &\nwait"
}
