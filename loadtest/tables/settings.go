package tables

import (
	"cmp"
	"maps"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/trial"
)

// The services' timeouts are shortened, so that a cell takes seconds. The ratios that matter are kept: a try is shorter
// than the confirm budget, the reconciler takes an order before it is given up, a pause outlives the session. A step is
// delayed, and a link is slowed, by the times of trial.Kinds: twice stockTimeout, and two fifths of it.
const (
	stockTimeout   = 500 * time.Millisecond
	sessionTimeout = 2 * time.Second
)

// Env is the services' environment in the lab.
var Env = map[string]string{
	"STOCK_TIMEOUT":             stockTimeout.String(),
	"CONFIRM_BUDGET":            "1s",
	"PENDING_LIMIT":             "1s",
	"CANCEL_AFTER":              "4s",
	"RECONCILE_INTERVAL":        "250ms",
	"RECONCILE_MAX_PAUSE":       "1s",
	"ZOOKEEPER_SESSION_TIMEOUT": sessionTimeout.String(),
	"LOCK_TIMEOUT":              "400ms",
	"SHUTDOWN_TIMEOUT":          "5s",
	// Many partitions: most orders of several products span several, and take several locks.
	"STOCK_PARTITIONS": "16",
}

// with returns all settings together. A later one overrides an earlier one.
func with(settings ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, s := range settings {
		maps.Copy(all, s)
	}
	return all
}

// preferring lets the deductions of a partition go to its preferred replica, as is the services' default. In a lab the
// replicas take turns, since a step is struck in one replica, which must have work.
var preferring = map[string]string{"STOCK_SPREAD": "false"}

// ofCluster are the settings of the services on a cluster. A failover takes about ten seconds, and no order may be
// given up during it. A commit waits for a second member, so a try gets more time than in Env.
var ofCluster = map[string]string{
	"CANCEL_AFTER": "60s", "ZOOKEEPER_SESSION_TIMEOUT": "4s", "STOCK_TIMEOUT": "2s", "LOCK_TIMEOUT": "1500ms",
	"CONFIRM_BUDGET": "2s", "PENDING_LIMIT": "3s",
}

const (
	callTimeout = 4 * time.Second
	strikeAt    = time.Second // after the traffic began
	// settleWithin is how long after the last answer the orders of a cell may be unfinished.
	settleWithin = 10 * time.Second
)

// usual lasts two and a half seconds, at a rate that grouped deductions sustain.
var usual = fire.Config{Orders: 300, Rate: 120, Concurrency: 64, Mix: fire.Mix{Cancel: 0.15}}

// several are the shares of orders of several products, mostly over several partitions: as fire.Mix draws it, which is
// two thirds, then 0.3, then all.
var several = []float64{0, 0.3, 1}

// Cell completes an experiment with what all cells have in common: a load of few products, with less stock than demand,
// and repeats; and the checks.
func Cell(e trial.Experiment) trial.Experiment {
	e.Load.Timeout, e.Load.Patience = cmp.Or(e.Load.Timeout, callTimeout), 15*time.Second
	m := &e.Load.Mix
	m.Goods, m.ItemsMax, m.NumMax = cmp.Or(m.Goods, 4), cmp.Or(m.ItemsMax, 3), cmp.Or(m.NumMax, 3)
	m.Stock, m.Repeat = cmp.Or(m.Stock, int64(e.Load.Orders)*2/3), cmp.Or(m.Repeat, 0.15)
	e.Settle = settleWithin
	e.Checks = append(e.Checks, trial.FreshOrder)
	return e
}
