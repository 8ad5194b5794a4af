package ladder

import (
	"context"
	"fmt"
	"slices"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
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
	Paths      []history.Path
	// Faults counts the deductions that each strategy keeps when a service is killed and when Redis is flushed.
	Faults bool
	// LockCost adds a pass of grouped and grouped-rows alone, with three stock services.
	LockCost bool
	// SellOut adds a row for each strategy and path where the stock ends halfway.
	SellOut bool
}

// paths are the deduction alone and whole orders.
var paths = []history.Path{history.PathDeduct, history.PathOrder}

// Full is the whole ladder.
func Full() Plan {
	return Plan{
		Strategies: append(deduct.Names(), Direct), Replicas: []int{1, 3}, Clients: []int{1, 16, 64, 256},
		Goods: []int{1, 100}, Paths: paths, SellOut: true, Faults: true,
	}
}

// Window is Config.Measure for the plan. In a quick one, orders under conditional-update come in bursts of up to a
// second, and a turn has to hold several bursts.
const Window, QuickWindow = 1500 * time.Millisecond, 2500 * time.Millisecond

// turns is the number of turns of each row.
const turns = 3

// Quick is a plan for a few minutes: the strategy of the case study, the plain update, groups with and without a lock,
// and the limit, under load, on one hot product.
func Quick() Plan {
	return Plan{
		Strategies: []string{"case-study", "conditional-update", "grouped-rows", Default, Direct}, Replicas: []int{1},
		Clients: []int{64, 256}, Goods: []int{1}, Paths: paths, Faults: true,
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

// races lists the plan's comparisons: the experiments of each have one load.
func (p Plan) races() (all [][]trial.Experiment) {
	for _, path := range p.Paths {
		for _, goods := range p.Goods {
			for _, clients := range p.Clients {
				load := fire.Config{Path: path, Concurrency: clients, Mix: fire.Mix{Goods: goods}}
				if goods > 1 {
					load.Mix.Zipf = 1
				}
				all = append(all, p.under(load))
			}
		}
		if p.SellOut {
			all = append(all, p.under(fire.Config{
				Path: path, Concurrency: slices.Max(p.Clients), Mix: fire.Mix{Goods: 1, Stock: 500},
			}))
		}
	}
	all = slices.DeleteFunc(all, func(race []trial.Experiment) bool { return len(race) == 0 })
	if p.LockCost {
		lock := Plan{
			Strategies: []string{"grouped-rows", Default}, Replicas: []int{3}, Clients: []int{slices.Max(p.Clients)},
			Goods: []int{1}, Paths: p.Paths,
		}
		all = append(all, lock.races()...)
	}
	return all
}

// under lists the plan's variants of the services under a load.
func (p Plan) under(load fire.Config) (all []trial.Experiment) {
	for _, name := range p.Strategies {
		for _, replicas := range p.Replicas {
			if name == Direct && replicas > 1 {
				continue // it is one process
			}
			all = append(all, trial.Experiment{
				Name:     fmt.Sprintf("%s/%d", name, replicas),
				Services: trial.Services{Strategy: name, Replicas: replicas, Env: patient(nil)}, Load: load,
			})
		}
	}
	return all
}

// Size returns how many rows the plan has.
func (p Plan) Size() (n int) {
	for _, race := range p.races() {
		n += len(race)
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
	cfg.say("%s · %s", result.Server, result.Machine)
	for _, race := range plan.races() {
		load := newRow(race[0]).load()
		cfg.say("%s: rows %d to %d of %d", load, len(result.Rows)+1, len(result.Rows)+len(race), plan.Size())
		rows, err := cfg.race(ctx, race, turns, 0)
		if err != nil {
			return result, fmt.Errorf("measure %s: %w", load, err)
		}
		result.Rows = append(result.Rows, rows...)
	}
	for _, all := range plan.ordeals() {
		cfg.say("what %s keeps when something breaks", all[0].Services.Strategy)
		rows, err := cfg.race(ctx, all, 1, 0)
		for _, row := range rows {
			row.Fault, row.Variant = row.Variant, ""
			result.Survival = append(result.Survival, row)
		}
		if err != nil {
			return result, fmt.Errorf("what survives under %s: %w", all[0].Services.Strategy, err)
		}
	}
	return result, nil
}
