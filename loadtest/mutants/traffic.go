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
	r, err := trial.On(l, fire.Config{
		Orders: 200, Concurrency: 20, Timeout: 5 * time.Second,
		Mix: fire.Mix{Goods: 3, Stock: 80, Repeat: 0.1, Seed: 1},
	}).Fire(ctx)
	if err != nil {
		return nil, err
	}
	return r.History, nil
}

// fireAndJudge returns the verdict on a load. An unknown one is an error.
func fireAndJudge(ctx context.Context, l *lab.Lab, load fire.Config) (*verify.Verdict, error) {
	r, err := trial.On(l, load).Fire(ctx)
	if err != nil {
		return nil, err
	}
	return verdict(ctx, l, r.History)
}

// judge returns the names of the invariants that do not hold.
func judge(ctx context.Context, l *lab.Lab, h *history.History) ([]string, error) {
	v, err := verdict(ctx, l, h)
	if err != nil {
		return nil, err
	}
	return v.Violated(), nil
}

// verdict returns the verdict on the run. An unknown one is an error.
func verdict(ctx context.Context, l *lab.Lab, h *history.History) (*verify.Verdict, error) {
	t := trial.On(l, fire.Config{})
	t.Books.Settle = 2 * time.Second
	v, err := t.Judge(ctx, h)
	if err != nil {
		return nil, err
	}
	if v.Outcome == verify.Unknown {
		return nil, fmt.Errorf("verdict unknown: %s", strings.Join(v.Reasons, "; "))
	}
	return v, nil
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
	if broken, err := judge(ctx, l, h); err != nil {
		return fmt.Errorf("run before the changes: %w", err)
	} else if len(broken) > 0 {
		return fmt.Errorf("run before the changes: broken %v", broken)
	}
	// The changes are made to an order that a client saw confirmed.
	i := slices.IndexFunc(h.Calls, func(c history.Call) bool {
		return c.Kind == history.Place &&
			c.Status == history.Confirmed
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
	for _, in := range inputs {
		if !strings.Contains(in.name, only) {
			continue
		}
		row, err := in.run(ctx, l, h, order)
		if err := add(row, err); err != nil {
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
	undo, err := in.change(ctx, l, h, order)
	if err != nil {
		return row, err
	}
	row.Broken, err = judge(ctx, l, h)
	if err != nil {
		return row, err
	}
	if row.CaughtBy = strings.Join(row.Broken, ", "); row.CaughtBy == "" {
		row.CaughtBy = "nothing"
	}
	if row.OK = slices.Contains(row.Broken, in.expected); row.OK {
		row.CaughtBy = in.expected
	}
	return row, undo(ctx)
}
