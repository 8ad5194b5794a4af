package catalogue

import (
	"fmt"
	"strings"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
)

// shape is a run of right services. None may be accused.
type shape struct {
	strategy string
	load     fire.Config
	// limited are settings that refuse calls.
	limited map[string]string
	// trouble happens to services during the run.
	trouble trouble
	// loads are fired at once, each at its own products. Default 1.
	loads int
}

// trouble is what happens to services during a run.
type trouble string

const (
	calmly       trouble = ""
	stocksKilled trouble = "both stock services killed"
	orderKilled  trouble = "an order service killed"
	stockPaused  trouble = "a stock service paused"
	orderPaused  trouble = "an order service paused"
)

// troubles are the acts. A pause is longer than a session.
var troubles = map[trouble][]trial.Action{
	stocksKilled: {{Action: "kill", Target: "stock-" + trial.Every, AfterMS: 500, For: time.Second}},
	orderKilled:  {{Action: "kill", Target: "order-1", AfterMS: 500, For: time.Second}},
	stockPaused:  {{Action: "pause", Target: "stock-1", AfterMS: 500, For: 2500 * time.Millisecond}},
	orderPaused:  {{Action: "pause", Target: "order-1", AfterMS: 500, For: 2500 * time.Millisecond}},
}

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
	narrow         = map[string]string{"MAX_IN_FLIGHT": "15"}
	crowded        = fire.Config{Orders: 120, Concurrency: 60, Mix: repeated}
	crowdedDeducts = fire.Config{Path: history.PathDeduct, Orders: 120, Concurrency: 60, Mix: repeated}
)

// honest are the shapes: strategies, loads, limits, short timeouts, killed and paused services, and two loads at once.
var honest = []shape{
	{strategy: "grouped", load: someOrders},
	{strategy: "grouped", load: someDeductions},
	{strategy: "grouped", load: popular},
	{strategy: "grouped", load: fewBaskets},
	{strategy: "grouped", load: hasty},
	{strategy: "grouped", load: hastyDeducts},
	{strategy: "grouped", load: crowded, limited: narrow},
	{strategy: "grouped", load: crowdedDeducts, limited: narrow},
	{strategy: "grouped", load: steady, trouble: stocksKilled},
	{strategy: "grouped", load: steadyDeducts, trouble: stocksKilled},
	{strategy: "grouped", load: steady, trouble: orderKilled},
	{strategy: "grouped", load: steady, trouble: stockPaused},
	{strategy: "grouped", load: steadyDeducts, trouble: stockPaused},
	{strategy: "grouped", load: steady, trouble: orderPaused},
	{strategy: "grouped", load: someOrders, loads: 2},
	{strategy: "grouped", load: someDeductions, loads: 2},
	{strategy: "grouped", load: hasty, limited: narrow, loads: 2},
	{strategy: "grouped", load: steady, trouble: stocksKilled, loads: 2},
	{strategy: "grouped-rows", load: someOrders},
	{strategy: "grouped-rows", load: someDeductions},
	{strategy: "grouped-rows", load: steadyDeducts, trouble: stocksKilled},
	{strategy: "grouped-rows", load: crowdedDeducts, limited: narrow},
	{strategy: "sequential", load: someOrders},
	{strategy: "sequential", load: someDeductions},
	{strategy: "sequential", load: fewBaskets},
	{strategy: "sequential", load: hastyDeducts},
	{strategy: "sequential", load: crowdedDeducts, limited: narrow},
	{strategy: "sequential", load: steadyDeducts, trouble: stocksKilled},
	{strategy: "sequential", load: steady, trouble: stockPaused},
	{strategy: "sequential", load: someDeductions, loads: 2},
	{strategy: "conditional-update", load: someOrders},
	{strategy: "conditional-update", load: hastyDeducts},
	{strategy: "conditional-update", load: steadyDeducts, trouble: stocksKilled},
	{strategy: "pessimistic", load: someOrders},
	{strategy: "pessimistic", load: someDeductions},
	{strategy: "optimistic", load: someOrders},
	{strategy: "optimistic", load: someDeductions},
	{strategy: "redis-lock", load: someDeductions},
	{strategy: "zk-lock", load: someDeductions},
	{strategy: "case-study", load: someOrders},
}

// name describes the shape.
func (s shape) name() string {
	parts := []string{"honest: " + s.strategy, "orders"}
	if s.load.Path == history.PathDeduct {
		parts[1] = "deductions"
	}
	switch {
	case s.load.Timeout > 0:
		parts = append(parts, "a timeout of "+s.load.Timeout.String())
	case s.load.Mix.Several > 0:
		parts = append(parts, fmt.Sprintf("baskets from %d products", s.load.Mix.Goods))
	}
	for setting, value := range s.limited {
		parts = append(parts, setting+"="+value)
	}
	if s.trouble != calmly {
		parts = append(parts, string(s.trouble))
	}
	if s.loads > 1 {
		parts = append(parts, fmt.Sprintf("%d loads at once", s.loads))
	}
	return strings.Join(parts, ", ")
}

// experiment returns the shape as an experiment, which must pass. The loads that do not have the trouble know of it.
func (s shape) experiment() trial.Experiment {
	s.load.Disturbed = s.limited != nil || s.trouble != calmly || s.load.Timeout > 0 || s.loads > 1
	return trial.Experiment{
		Name: s.name(), Group: "honest", Load: s.load, Loads: s.loads, Acts: troubles[s.trouble],
		Services: trial.Services{Strategy: s.strategy, Env: with(Env, atOnce, s.limited), Fresh: true},
	}
}
