package ladder

import (
	"context"
	"fmt"
	"slices"
	"time"

	"orderstock/stock-service/deduct"
)

// Default is the stock service's default strategy. The ladder compares it with the others.
const Default = deduct.Default

// Unsafe is the strategy whose violation the verifier must find.
const Unsafe = "unsafe"

// Plan selects the rows of a ladder.
type Plan struct {
	Strategies []string
	Replicas   []int
	Clients    []int
	Goods      []int
	Paths      []string
	// Faults counts the deductions that each strategy keeps when a service is killed and when Redis is flushed.
	Faults bool
	// LockCost adds a pass of grouped and grouped-rows alone, with three stock services.
	LockCost bool
	// SellOut adds a row for each strategy and path where the stock ends halfway.
	SellOut bool
}

// Full is the whole ladder.
func Full() Plan {
	return Plan{
		Strategies: append(deduct.Names(), Direct), Replicas: []int{1, 3}, Clients: []int{1, 16, 64, 256},
		Goods: []int{1, 100}, Paths: []string{PathDeduct, PathOrder}, SellOut: true, Faults: true,
	}
}

// QuickWindow is Config.Measure for the quick plan. Orders under conditional-update come in bursts of up to a second,
// and a turn has to hold several bursts.
const QuickWindow = 5 * time.Second

// Quick is a plan for a few minutes: the strategy of the case study, the plain update, groups with and without a lock,
// and the limit, under load, on one hot product.
func Quick() Plan {
	return Plan{
		Strategies: []string{"case-study", "conditional-update", "grouped-rows", Default, Direct}, Replicas: []int{1},
		Clients: []int{64, 256}, Goods: []int{1}, Paths: []string{PathDeduct, PathOrder}, Faults: true,
		LockCost: true,
	}
}

// Only returns the plan with only these strategies, numbers of clients and of replicas, where there are any. It
// measures the cost of the lock if the strategies include the two that show it, and the replicas are the plan's.
func (p Plan) Only(strategies []string, clients, replicas []int) Plan {
	if len(strategies) > 0 {
		p.Strategies = strategies
		p.LockCost = p.LockCost && slices.Contains(strategies, Default) && slices.Contains(strategies, "grouped-rows")
	}
	if len(clients) > 0 {
		p.Clients = clients
	}
	if len(replicas) > 0 {
		p.Replicas, p.LockCost = replicas, false
	}
	return p
}

// passes returns the plan itself and, if LockCost is set, the pass for it.
func (p Plan) passes() []Plan {
	if !p.LockCost {
		return []Plan{p}
	}
	lock := Plan{
		Strategies: []string{"grouped-rows", Default}, Replicas: []int{3},
		Clients: []int{slices.Max(p.Clients)}, Goods: []int{1}, Paths: p.Paths,
	}
	p.LockCost = false
	return []Plan{p, lock}
}

// Check returns an error for an unknown strategy, and for an impossible number of clients or replicas.
func (p Plan) Check() error {
	for _, s := range p.Strategies {
		if _, err := deduct.Find(s); err != nil && s != Direct {
			return fmt.Errorf("%w, or %s", err, Direct)
		}
	}
	for _, n := range slices.Concat(p.Clients, p.Replicas) {
		if n < 1 || n > 10_000 {
			return fmt.Errorf("%d clients or replicas: want 1 to 10000", n)
		}
	}
	return nil
}

// variants lists the variants of the plan.
func (p Plan) variants() (all []variant) {
	for _, name := range p.Strategies {
		for _, replicas := range p.Replicas {
			if name == Direct && replicas > 1 {
				continue // it is one process
			}
			all = append(all, variant{strategy: name, replicas: replicas})
		}
	}
	return all
}

// loads lists the loads.
func (p Plan) loads() (all []Load) {
	for _, path := range p.Paths {
		for _, goods := range p.Goods {
			for _, clients := range p.Clients {
				all = append(all, Load{Path: path, Goods: goods, Clients: clients, Zipf: goods > 1})
			}
		}
		if p.SellOut {
			all = append(all, Load{Path: path, Goods: 1, Clients: slices.Max(p.Clients), SellOut: true})
		}
	}
	return all
}

// Size returns how many rows the plan has.
func (p Plan) Size() (n int) {
	for _, pass := range p.passes() {
		n += len(pass.variants()) * len(pass.loads())
	}
	return n
}

// Run measures the plan's rows. Each row has separate databases, Redis keys and services, so that no row pays for the
// rows of another. A row that could not be measured ends the run with an error; the loads before it are in the result.
func (cfg Config) Run(ctx context.Context, plan Plan) (*Result, error) {
	result := &Result{Kind: "ladder"}
	var err error
	if result.Bench, err = cfg.bench(ctx); err != nil {
		return result, err
	}
	fmt.Fprintln(cfg.Table, result.Server, "·", result.Machine)
	table := rowTable()
	table.Follow(cfg.Table, len("conditional-update"))
	for _, pass := range plan.passes() {
		variants := pass.variants()
		for _, l := range pass.loads() {
			cfg.say("%s: rows %d to %d of %d", l, len(result.Rows)+1, len(result.Rows)+len(variants), plan.Size())
			turn := cfg
			turn.Measure /= time.Duration(l.rounds())
			rows, err := turn.measure(ctx, l, variants, l.turns)
			if err != nil {
				return result, fmt.Errorf("measure %s: %w", l, err)
			}
			for _, row := range rows {
				table.AddRow(row)
			}
			result.Rows = append(result.Rows, rows...)
		}
	}
	if plan.Faults {
		return result, cfg.survive(ctx, plan, result)
	}
	return result, nil
}
