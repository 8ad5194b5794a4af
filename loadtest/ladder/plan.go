package ladder

import (
	"fmt"
	"slices"
	"time"

	"orderstock/stock-service/deduct/strategy"
)

// Default is the stock service's default strategy. The ladder compares it with the others.
const Default = strategy.Default

// Unsafe is the strategy whose violation the verifier must find.
const Unsafe = "unsafe"

// shape is the setting shared by all rows of one stack.
type shape struct {
	strategy string
	replicas int
}

func (s shape) String() string { return fmt.Sprintf("%s/%d", s.strategy, s.replicas) }

// point is a load for measuring every shape.
type point struct {
	path    string
	goods   int
	clients int
	sellOut bool
	uniform bool // all products are equally popular
	items   int  // the most products of one order; 0: one
}

// rounds returns the number of turns of the rows of the point. The rate of one client is one over the disk's latency,
// which changes every second, so it is compared over more and shorter turns.
func (p point) rounds() int {
	if p.clients == 1 {
		return 4
	}
	return 2
}

func (p point) String() string {
	text := fmt.Sprintf("path %s, products %d, clients %d", p.path, p.goods, p.clients)
	if p.items > 1 {
		text += fmt.Sprintf(", baskets of 1 to %d", p.items)
	}
	if p.sellOut {
		text += ", sold out halfway"
	}
	return text
}

// Plan selects the rows of a run.
type Plan struct {
	Strategies []string
	Replicas   []int
	Clients    []int
	Goods      []int
	Paths      []string
	// Faults counts the deductions that each strategy keeps when a service is killed and when Redis is flushed.
	Faults bool
	// LockCost adds a pass of grouped and grouped-rows alone, with three stock services; see Result.LockCost.
	LockCost bool
	// SellOut adds a row for each strategy and path where the stock ends halfway.
	SellOut bool
}

// Full is the whole ladder.
func Full() Plan {
	return Plan{
		Strategies: append(strategy.Names(), Direct), Replicas: []int{1, 3}, Clients: []int{1, 16, 64, 256},
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

// Only returns the plan with only these strategies. It measures the cost of the lock if they include the two strategies
// that show it.
func (p Plan) Only(strategies []string) Plan {
	p.Strategies = strategies
	p.LockCost = p.LockCost && slices.Contains(strategies, Default) && slices.Contains(strategies, "grouped-rows")
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
		if s == Direct {
			continue
		}
		if _, err := strategy.Find(s); err != nil {
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

// shapes lists the shapes of the plan.
func (p Plan) shapes() []shape {
	var all []shape
	for _, name := range p.Strategies {
		for _, replicas := range p.Replicas {
			if name == Direct && replicas > 1 {
				continue // it is one process
			}
			all = append(all, shape{name, replicas})
		}
	}
	return all
}

// points lists the loads.
func (p Plan) points() []point {
	var all []point
	for _, path := range p.Paths {
		for _, goods := range p.Goods {
			for _, clients := range p.Clients {
				all = append(all, point{path: path, goods: goods, clients: clients})
			}
		}
		if p.SellOut {
			all = append(all, point{path: path, goods: 1, clients: slices.Max(p.Clients), sellOut: true})
		}
	}
	return all
}

// Size returns how many rows the plan has.
func (p Plan) Size() (n int) {
	for _, pass := range p.passes() {
		n += len(pass.shapes()) * len(pass.points())
	}
	return n
}
