package mutants

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/faults"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/lab"
	"orderstock/loadtest/mutants/changes"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// littleTraffic fires some orders at healthy services and returns the history.
func littleTraffic(ctx context.Context, l *lab.Lab) (*history.History, error) {
	return fired(ctx, l, fire.Config{
		Orders: 200, Concurrency: 20, Mix: fire.Mix{Goods: 3, Stock: 80, Repeat: 0.1, Seed: 1},
	})
}

func fired(ctx context.Context, l *lab.Lab, load fire.Config) (*history.History, error) {
	load.Timeout = 5 * time.Second
	r, err := trial.On(l, load).Fire(ctx)
	if err != nil {
		return nil, err
	}
	return r.History, nil
}

// verdict returns the verdict on the run. An unknown one is an error.
func verdict(ctx context.Context, l *lab.Lab, h *history.History) (*verify.Verdict, error) {
	t := trial.On(l, fire.Config{})
	t.Books.Settle = 2 * time.Second
	v, err := t.Judge(ctx, h)
	if err == nil && v.Outcome == verify.Unknown {
		err = fmt.Errorf("verdict unknown: %s", strings.Join(v.Reasons, "; "))
	}
	return v, err
}

// runInputs fires some orders, which must be judged right, and then changes the input of the checker, one change at a
// time.
func runInputs(ctx context.Context, l *lab.Lab, only string, add func(Row, error) error) error {
	if !slices.ContainsFunc(inputs, func(in input) bool { return strings.Contains(in.name, only) }) {
		return nil
	}
	if err := l.StartServices(ctx, "", faults.Env); err != nil {
		return err
	}
	h, err := littleTraffic(ctx, l)
	if err != nil {
		return err
	}
	if v, err := verdict(ctx, l, h); err != nil {
		return fmt.Errorf("run before the changes: %w", err)
	} else if broken := v.Violated(); len(broken) > 0 {
		return fmt.Errorf("run before the changes: broken %v", broken)
	}
	// The changes are made to an order that a client saw confirmed.
	i := slices.IndexFunc(h.Calls, func(c history.Call) bool {
		return c.Kind == history.Place && c.Status == history.Confirmed
	})
	if i < 0 {
		return fmt.Errorf("run before the changes: no order was confirmed")
	}
	order := h.Calls[i]
	for _, r := range l.Replicas() { // a live reconciler would repair some of the changes
		if err := r.Kill(); err != nil {
			return err
		}
	}
	if err := copyTables(ctx, l); err != nil {
		return err
	}
	for _, in := range inputs {
		if !strings.Contains(in.name, only) {
			continue
		}
		row, err := in.run(ctx, l, h.Clone(), order)
		if err := errors.Join(add(row, err), restoreTables(ctx, l)); err != nil {
			return err
		}
	}
	return nil
}

// tryChanges records one run of each kind and tries changes to each.
func tryChanges(ctx context.Context, l *lab.Lab, n int) (*changes.Counts, error) {
	all := &changes.Counts{Missed: []string{}}
	kinds := changes.Kinds()
	for _, kind := range kinds {
		if err := l.StartServices(ctx, "", faults.Env); err != nil {
			return nil, err
		}
		base, err := kind.Record(ctx, l, func(context.Context) error {
			return errors.Join(l.Stocks[1].Kill(), l.Orders[1].Kill())
		})
		if err != nil {
			return nil, err
		}
		counts, err := base.Run(1, n/len(kinds))
		if err != nil {
			return nil, err
		}
		all.Add(counts)
	}
	return all, nil
}

func (in input) run(ctx context.Context, l *lab.Lab, h *history.History, order history.Call) (Row, error) {
	row := Row{Mutant: in.name, Expected: in.expected}
	if err := in.change(ctx, l, h, order); err != nil {
		return row, err
	}
	v, err := verdict(ctx, l, h)
	if err != nil {
		return row, err
	}
	row.Broken = v.Violated()
	row.conclude(in.expected)
	return row, nil
}
