// Package verifytest_test proves the checker on whole stacks. It accuses no right services, notices when something
// between them and their clients does harm, and finds random changes to the books and the answers of runs that pass.
//
// With -short, as in "make test", a part of the stacks runs.
package verifytest_test

import (
	"maps"
	"testing"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
)

// The loads.
var (
	repeated = fire.Mix{Goods: 3, Stock: 120, Repeat: 0.3, Cancel: 0.3, Seed: 1}
	// traffic has repeats and cancellations.
	traffic = fire.Config{Orders: 200, Concurrency: 20, Mix: repeated}
	// popular sells out one product after the other, so that few are short.
	popular = fire.Config{
		Orders: 150, Concurrency: 12, Mix: fire.Mix{Goods: 4, Stock: 50, Zipf: 2.5, ItemsMax: 2, Several: 1, Seed: 1},
	}
	// fewBaskets is orders of several products for a strategy that takes each product's lock in ZooKeeper.
	fewBaskets = fire.Config{
		Orders: 80, Concurrency: 8, Mix: fire.Mix{Goods: 6, Stock: 2000, ItemsMax: 3, Several: 1, Seed: 1},
	}
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

// atOnce are the settings of a run in calm, where every call must get its end at once, on a busy machine, too.
var atOnce = map[string]string{
	"LOCK_TIMEOUT": "3s", "STOCK_TIMEOUT": "4s", "CONFIRM_BUDGET": "5s", "PENDING_LIMIT": "5s", "CANCEL_AFTER": "15s",
}

// up brings up right services.
func up(t *testing.T, strategy string, settings map[string]string) *system.System {
	t.Helper()
	env := maps.Clone(tables.Env)
	maps.Copy(env, atOnce)
	maps.Copy(env, settings)
	return systemtest.Up(t, systemtest.Build(t), func(c *system.Config) {
		c.Strategy, c.OrderEnv, c.StockEnv = strategy, env, env
	})
}

// part returns all, or with -short the first n.
func part[T any](all []T, n int) []T {
	if testing.Short() {
		return all[:n]
	}
	return all
}

// run runs an experiment and logs why it does not pass.
func run(t *testing.T, e trial.Experiment, on *system.System, seed uint64) *trial.Result {
	t.Helper()
	r := e.Run(t.Context(), on, seed, nil, nil)
	if len(r.Why) > 0 {
		t.Logf("seed %d: %s: %v", seed, r.Outcome, r.Why)
	}
	return r
}
