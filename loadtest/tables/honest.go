package tables

import (
	"fmt"
	"strings"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
)

// shape is a way to run right services other than by the load: in words, and as a change to the experiment.
type shape struct {
	says  string
	apply func(*trial.Experiment)
}

// trouble breaks something half a second after the first order. A pause is longer than a session.
func trouble(says, action, target string, lasts time.Duration) shape {
	return shape{says, func(e *trial.Experiment) {
		e.Acts = []trial.Action{{Action: action, Target: target, AfterMS: 500, For: lasts}}
	}}
}

var (
	stocksKilled = trouble("both stock services killed", "kill", "stock-"+trial.Every, time.Second)
	orderKilled  = trouble("an order service killed", "kill", "order-1", time.Second)
	stockPaused  = trouble("a stock service paused", "pause", "stock-1", 2500*time.Millisecond)
	orderPaused  = trouble("an order service paused", "pause", "order-1", 2500*time.Millisecond)
	// narrow refuses calls.
	narrow = shape{"MAX_IN_FLIGHT=15", func(e *trial.Experiment) { e.Services.Env["MAX_IN_FLIGHT"] = "15" }}
	// retried has a proxy in front that sends one order in ten again.
	retried = shape{"a proxy that sends calls again", func(e *trial.Experiment) {
		e.Services.Front = behind(every(1, 10, places, sendingAgain))
	}}
	// twice fires two loads at once, each at its own products.
	twice = shape{"2 loads at once", func(e *trial.Experiment) { e.Loads = 2 }}
)

// The loads of the shapes.
var (
	someOrders     = fire.Config{Orders: 120, Concurrency: 12, Mix: repeated}
	someDeductions = fire.Config{Path: history.PathDeduct, Orders: 120, Concurrency: 12, Mix: repeated}
	hasty          = fire.Config{Orders: 120, Concurrency: 12, Timeout: 20 * time.Millisecond, Mix: repeated}
	hastyDeducts   = fire.Config{
		Path: history.PathDeduct, Orders: 120, Concurrency: 12, Timeout: 20 * time.Millisecond, Mix: repeated,
	}
	steady         = fire.Config{Orders: 120, Concurrency: 24, Rate: 60, Mix: repeated}
	steadyDeducts  = fire.Config{Path: history.PathDeduct, Orders: 120, Concurrency: 24, Rate: 60, Mix: repeated}
	crowded        = fire.Config{Orders: 120, Concurrency: 60, Mix: repeated}
	crowdedDeducts = fire.Config{Path: history.PathDeduct, Orders: 120, Concurrency: 60, Mix: repeated}
)

// honest are runs of right services, which must all pass: strategies, loads, limits, short timeouts, killed and paused
// services, and two loads at once.
var honest = []trial.Experiment{
	right("grouped", someOrders),
	right("grouped", someDeductions),
	right("grouped", popular),
	right("grouped", fewBaskets),
	right("grouped", hasty),
	right("grouped", hastyDeducts),
	right("grouped", crowded, narrow),
	right("grouped", crowdedDeducts, narrow),
	right("grouped", steady, stocksKilled),
	right("grouped", steadyDeducts, stocksKilled),
	right("grouped", steady, orderKilled),
	right("grouped", steady, stockPaused),
	right("grouped", steadyDeducts, stockPaused),
	right("grouped", steady, orderPaused),
	right("grouped", someOrders, retried),
	right("grouped", someOrders, twice),
	right("grouped", someDeductions, twice),
	right("grouped", hasty, narrow, twice),
	right("grouped", steady, stocksKilled, twice),
	right("grouped-rows", someOrders),
	right("grouped-rows", someDeductions),
	right("grouped-rows", steadyDeducts, stocksKilled),
	right("grouped-rows", crowdedDeducts, narrow),
	right("sequential", someOrders),
	right("sequential", someDeductions),
	right("sequential", fewBaskets),
	right("sequential", hastyDeducts),
	right("sequential", crowdedDeducts, narrow),
	right("sequential", steadyDeducts, stocksKilled),
	right("sequential", steady, stockPaused),
	right("sequential", someDeductions, twice),
	right("conditional-update", someOrders),
	right("conditional-update", hastyDeducts),
	right("conditional-update", steadyDeducts, stocksKilled),
	right("pessimistic", someOrders),
	right("pessimistic", someDeductions),
	right("optimistic", someOrders),
	right("optimistic", someDeductions),
	right("redis-lock", someDeductions),
	right("zk-lock", someDeductions),
	right("case-study", someOrders),
}

// right returns an experiment with right services, which must pass. Loads without the trouble know of it.
func right(strategy string, load fire.Config, shapes ...shape) trial.Experiment {
	parts := []string{"honest: " + strategy, "orders"}
	if load.Path == history.PathDeduct {
		parts[1] = "deductions"
	}
	switch {
	case load.Timeout > 0:
		parts = append(parts, "a timeout of "+load.Timeout.String())
	case load.Mix.Several > 0:
		parts = append(parts, fmt.Sprintf("baskets from %d products", load.Mix.Goods))
	}
	load.Disturbed = load.Timeout > 0 || len(shapes) > 0
	e := trial.Experiment{
		Group: "honest", Load: load,
		Services: trial.Services{Strategy: strategy, Env: with(Env, atOnce), Fresh: true},
	}
	for _, s := range shapes {
		s.apply(&e)
		parts = append(parts, s.says)
	}
	e.Name = strings.Join(parts, ", ")
	return e
}
