package ladder

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// replicasWindow is the least time for which each of the two is measured in a leg, over all rounds; as
// they are compared closely, they get three times that.
const replicasWindow = 6 * time.Second

// MeasureReplicas compares n stock services under the default strategy with one, on one hot product under load, on each
// of the ladder's paths in that many legs, at least two. They do the same work, so it takes many turns to see a
// difference. Each leg has its own services and databases. If a leg fails, the result has the ones before it.
func MeasureReplicas(ctx context.Context, cfg Config, n, clients, legs int) ([]Comparison, error) {
	cfg.Measure = max(cfg.Measure, replicasWindow)
	cfg.Plan = Plan{Strategies: []string{Default}, Replicas: []int{1, n}}
	paths := []string{PathDeduct, PathOrder}
	all := make([]Comparison, len(paths))
	for i, path := range paths {
		var err error
		name := fmt.Sprintf("%s, one hot product: grouped, %d replicas / one", path, n)
		if all[i], err = newComparison(ctx, cfg, name, 1); err != nil {
			return all, err
		}
	}
	for leg := range legs {
		for i, path := range paths {
			cfg.Progress(fmt.Sprintf("leg %d of %d, path %s", leg+1, legs, path))
			rows, err := measurePoint(ctx, cfg, 0, point{path: path, goods: 1, clients: clients}, nil)
			if err != nil {
				return all, fmt.Errorf("leg %d, path %s: %w", leg+1, path, err)
			}
			slices.SortFunc(rows, func(a, b Row) int { return a.Replicas - b.Replicas })
			c := &all[i]
			if err := c.add(rows[0].DonePerS, rows[1].DonePerS); err != nil {
				return all, fmt.Errorf("leg %d, path %s: %w", leg+1, path, err)
			}
			c.Verdict = worse(c.Verdict, worse(rows[0].Verdict, rows[1].Verdict))
			if err := c.print(cfg); err != nil {
				return all, err
			}
		}
		slices.Reverse(cfg.Plan.Replicas) // each leg begins with the other
	}
	return all, nil
}
