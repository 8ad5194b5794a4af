package ladder

import (
	"context"
	"errors"

	"orderstock/loadtest/stack"
)

// mostLost is the part of its sales that a strategy may lose while it is watched.
const mostLost = 0.02

// MeasureWatched compares the sales of the default strategy with and without an observer of the stack: whole orders on
// one hot product, in that many legs on the same services. The observer is there between watch and its stop.
func MeasureWatched(
	ctx context.Context, cfg Config, clients, n int,
	watch func(context.Context, *stack.Stack) (stop func() error, err error),
) (w Comparison, err error) {
	w, err = newComparison(ctx, cfg, "order, one hot product: grouped, watched / alone", 1-mostLost)
	if err != nil {
		return w, err
	}
	p := point{path: PathOrder, goods: 1, clients: clients}
	alone, err := open(ctx, cfg, variant{shape: shape{Default, 1}}, p.path)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, alone.close(ctx)) }()
	watched := *alone
	watched.begin = func(ctx context.Context) (func() error, error) { return watch(ctx, alone.stack) }
	if err := race(ctx, cfg, p, []*contestant{alone, &watched}, legs(n+1, cfg.say)); err != nil {
		return w, err
	}
	for leg := 1; leg <= n; leg++ { // the first leg only warms everything up
		if err := w.add(alone.reports[leg].DonePerS, watched.reports[leg].DonePerS); err != nil {
			return w, err
		}
	}
	w.Verdict = worse(alone.verdict, watched.verdict)
	return w, cfg.print(w.Ratio)
}
