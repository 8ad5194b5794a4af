package ladder

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"orderstock/loadtest/stack"
	"orderstock/loadtest/verify"
)

// Comparison is two variants of the services under one load, measured in legs.
type Comparison struct {
	Bench
	// A[i] and B[i] are sales a second in leg i.
	A []float64 `json:"a_per_s"`
	B []float64 `json:"b_per_s"`
	// Ratio divides the sales of B by the sales of A, over all legs. Its error is the spread of the legs, so that it holds
	// what differs from leg to leg: the minute and, if they are new for each, processes and databases.
	Ratio Ratio `json:"ratio"`
	// Verdict is the worst of all turns.
	Verdict verify.Outcome `json:"verdict"`
}

// newComparison returns a comparison without a leg yet. name names the variants, such as "watched / alone".
func newComparison(ctx context.Context, cfg Config, name string, want float64) (c Comparison, err error) {
	c = Comparison{Verdict: verify.Pass, Ratio: Ratio{Name: name, Want: want}}
	c.Bench, err = cfg.bench(ctx)
	return c, err
}

// measureLeg adds a leg between new services: of two processes of one program, one may be about 5 % faster than the
// other for its whole life. Each leg begins with the other variant.
func (c *Comparison) measureLeg(
	ctx context.Context, cfg Config, p point, a, b variant, order func([]*contestant) iter.Seq[*contestant],
) error {
	leg := len(c.A)
	variants := []variant{a, b}
	if leg%2 == 1 {
		slices.Reverse(variants)
	}
	both, err := measure(ctx, cfg, p, variants, order, nil)
	if err != nil {
		return fmt.Errorf("leg %d: %w", leg+1, err)
	}
	if leg%2 == 1 {
		slices.Reverse(both)
	}
	cfg.say("leg %d: %.0f/s and %.0f/s", leg+1, mean(both[0].perS()), mean(both[1].perS()))
	c.Verdict = c.Verdict.Or(both[0].verdict).Or(both[1].verdict)
	return c.add(mean(both[0].perS()), mean(both[1].perS()))
}

// add adds a leg.
func (c *Comparison) add(a, b float64) error {
	if a <= 0 {
		return fmt.Errorf("leg %d: nothing was sold", len(c.A)+1)
	}
	c.A, c.B = append(c.A, a), append(c.B, b)
	c.Ratio.Value, c.Ratio.Error = overLegs(c.A, c.B)
	c.Ratio.OK = c.Ratio.withinError()
	return nil
}

// Judge judges as Result.Judge does.
func (c Comparison) Judge(targets bool) error {
	return errors.Join(c.Ratio.judge(targets && len(c.A) > 0), passed(c.Verdict))
}

// Comparisons are comparisons of one run.
type Comparisons []Comparison

// Judge judges as Result.Judge does.
func (all Comparisons) Judge(targets bool) (err error) {
	for _, c := range all {
		err = errors.Join(err, c.Judge(targets))
	}
	return err
}

// replicasWindow is the least time for which each of the two is measured in a leg, over all rounds; as
// they are compared closely, they get three times that.
const replicasWindow = 6 * time.Second

// MeasureReplicas compares n stock services under the default strategy with one, on one hot product under load, on each
// of the ladder's paths in that many legs, at least two. They do the same work, so it takes many turns to see a
// difference. Each leg has its own services and databases. If a leg fails, the result has the ones before it; it is nil
// if there are none.
func MeasureReplicas(ctx context.Context, cfg Config, n, clients, legs int) (Comparisons, error) {
	cfg.Measure = max(cfg.Measure, replicasWindow)
	var all Comparisons
	paths := []string{PathDeduct, PathOrder}
	for _, path := range paths {
		c, err := newComparison(ctx, cfg, fmt.Sprintf("%s, one hot product: grouped, %d replicas / one", path, n), 1)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	for leg := range legs {
		for i, path := range paths {
			cfg.say("leg %d of %d, path %s", leg+1, legs, path)
			p := point{path: path, goods: 1, clients: clients}
			err := all[i].measureLeg(ctx, cfg.spread(p), p, variant{shape: shape{Default, 1}}, variant{shape: shape{Default, n}},
				p.turns)
			if err != nil && len(all[0].A) == 0 {
				return nil, err
			}
			if err != nil {
				return all, fmt.Errorf("path %s: %w", path, err)
			}
			cfg.say("%s: %s", all[i].Ratio.Name, withError(all[i].Ratio.Value, all[i].Ratio.Error))
		}
	}
	return all, nil
}

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
	w.Verdict = alone.verdict.Or(watched.verdict)
	return w, nil
}
