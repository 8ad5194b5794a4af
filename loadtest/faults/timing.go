package faults

import "time"

// The services' timeouts are shortened, so that a cell takes seconds. The ratios that matter are kept: a try is shorter
// than the confirm budget, the reconciler takes an order before it is given up, a pause outlives the session. A step is
// delayed, and a link is slowed, by the times of package act: twice stockTimeout, and two fifths of it.
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

const (
	callTimeout   = 4 * time.Second
	strikeAt      = 900 * time.Millisecond // after the traffic began
	strikeWithin  = 6 * time.Second        // after it was armed
	settleWithin  = 20 * time.Second       // after the last fault healed
	recoverWithin = 10 * time.Second       // for the fresh order
)
