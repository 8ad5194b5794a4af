package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"orderstock/loadtest/act"
	"orderstock/loadtest/lab"
	"orderstock/loadtest/trial"
)

// New returns the fault of a cell, for a lab whose services run. The seed decides which replica it strikes, and at
// which arrival.
func New(l *lab.Lab, c Cell, seed uint64) trial.Act {
	return faultOf(l, c, rand.New(rand.NewPCG(seed, hash(c.Name()))))
}

// faultOf returns the fault of a cell.
func faultOf(l *lab.Lab, c Cell, rng *rand.Rand) trial.Act {
	if c.Step != Around {
		return newStrike(l, pointOf(c.Step), c, rng)
	}
	if c.Cluster {
		return newClustered(l, c.Fault)
	}
	if f := newLong(l, c.Fault, rng); f != nil {
		return f
	}
	var both together
	for name := range strings.SplitSeq(c.Fault, "+") {
		both = append(both, newSurrounding(l, name, rng))
	}
	return both
}

// together is several faults at once.
type together []trial.Act

// Arm arms all at once, since some take as long as a server's restart. Flushes go first: they delete flags of orders
// that the other faults hold up. Faults of wires go first too, one by one: adding a toxic to a connection while another
// fault closes it can block forever.
func (t together) Arm(ctx context.Context) error {
	var rest together
	for _, f := range t {
		s, acts := f.(*surrounding)
		if acts && s.acts[0].On() != act.OnWire {
			rest = append(rest, f)
		} else if err := f.Arm(ctx); err != nil {
			return err
		}
	}
	return rest.each(func(f trial.Act) error { return f.Arm(ctx) })
}

// Fired is the smallest of their counts: 0 until each has struck.
func (t together) Fired(ctx context.Context) (int, error) {
	least := -1
	for _, f := range t {
		n, err := f.Fired(ctx)
		if err != nil {
			return 0, err
		}
		if least < 0 || n < least {
			least = n
		}
	}
	return max(least, 0), nil
}

func (t together) Hold() time.Duration {
	var longest time.Duration
	for _, f := range t {
		longest = max(longest, f.Hold())
	}
	return longest
}

// Heal heals all at once, since a replica becomes ready only once its servers are back.
func (t together) Heal(ctx context.Context) error {
	return t.each(func(f trial.Act) error { return f.Heal(ctx) })
}

func (t together) each(do func(trial.Act) error) error {
	errs := make([]error, len(t))
	var doing sync.WaitGroup
	for i, f := range t {
		doing.Go(func() { errs[i] = do(f) })
	}
	doing.Wait()
	return errors.Join(errs...)
}
