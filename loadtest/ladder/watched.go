package ladder

import (
	"context"
	"errors"
	"time"

	"orderstock/loadtest/stack"
)

// mostLost is the part of its sales that a strategy may lose while it is watched.
const mostLost = 0.02

// MeasureWatched compares the sales of the default strategy with and without an observer of the stack: whole orders on
// one hot product, in that many legs on the same services. The observer is there between watch and its stop.
// Config.Measure is the time of a turn.
func MeasureWatched(
	ctx context.Context, cfg Config, clients, legs int,
	watch func(context.Context, *stack.Stack) (stop func() error, err error),
) (w Comparison, err error) {
	w, err = newComparison(ctx, cfg, "order, one hot product: grouped, watched / alone", 1-mostLost)
	if err != nil {
		return w, err
	}
	p := point{path: PathOrder, goods: 1, clients: clients}
	cfg.Measure *= time.Duration(p.rounds())
	st, err := up(ctx, cfg, 1, shape{Default, 1}, p.path)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, down(ctx, cfg, st)) }()
	c := &contestant{shape: shape{Default, 1}, stack: st}
	turn := func(_ int, watched bool) (perS float64, err error) {
		if watched {
			stop, startErr := watch(ctx, st)
			if startErr != nil {
				return 0, startErr
			}
			defer func() { err = errors.Join(err, stop()) }()
		}
		if err := c.fire(ctx, cfg, p); err != nil {
			return 0, err
		}
		return c.reports[len(c.reports)-1].DonePerS, nil
	}
	if _, err := turn(0, true); err != nil { // warms everything up, and does not count
		return w, err
	}
	if err := w.measure(cfg, legs, turn); err != nil {
		return w, err
	}
	row, err := c.row(ctx, p)
	w.Verdict = row.Verdict
	return w, err
}
