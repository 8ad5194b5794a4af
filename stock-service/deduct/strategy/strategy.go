// Package strategy lists the deduction strategies. It imports none of them, so that a program that only names them does
// not link their clients.
package strategy

import (
	"fmt"
	"strings"
)

// Info describes a strategy.
type Info struct {
	Name string
	// Summary describes in one line how the strategy serializes deductions.
	Summary string
	// LockServer is the server that holds the strategy's locks: "ZooKeeper", "Redis", or "" if it takes none.
	LockServer string
	// Warning describes the strategy's defect, for example "oversells"; "" if it is correct. A service refuses to start
	// with an incorrect one unless that is allowed.
	Warning string
}

// Unsafe reports whether the strategy is not correct.
func (i Info) Unsafe() bool { return i.Warning != "" }

// Default is the strategy of a stock service that names none.
const Default = "grouped"

// All lists the strategies in the order that the load test compares them: from the simplest to the default.
var All = []Info{
	{
		Name: "unsafe", Warning: "oversells",
		Summary: "reads, then writes, without a lock: oversells; only with `--allow-unsafe`",
	},
	{
		Name: "single-node", LockServer: "ZooKeeper",
		Summary: "one ephemeral node for each product, watched by all waiters: the herd",
	},
	{
		Name: "case-study", LockServer: "ZooKeeper",
		Summary: "as published, with its faults fixed: one lock for all products, a new session for each lock",
	},
	{
		Name: "zk-lock", LockServer: "ZooKeeper",
		Summary: "the lock of the ZooKeeper client library for each product: no fencing token",
	},
	{
		Name: "sequential", LockServer: "ZooKeeper",
		Summary: "a mutex for each product, taken in order; one session for the process",
	},
	{Name: "redis-lock", LockServer: "Redis", Summary: "a Redlock for each product (redsync): no fencing token"},
	{Name: "pessimistic", Summary: "each operation separately: `SELECT … FOR UPDATE`, then the update"},
	{Name: "optimistic", Summary: "each operation separately: a version column, and a retry if it has changed"},
	{
		Name:    "conditional-update",
		Summary: "no lock: the condition of the update and the row locks",
	},
	{
		Name:    "grouped-rows",
		Summary: "the groups of `grouped` without its lock: the condition and the row locks",
	},
	{
		Name: Default, LockServer: "ZooKeeper",
		Summary: "a lock for each partition, by default one for all; waiting operations share a transaction",
	},
}

// Names returns the names of all strategies, in the order of All.
func Names() []string {
	names := make([]string, len(All))
	for i, s := range All {
		names[i] = s.Name
	}
	return names
}

// Find returns the strategy of that name. The error lists the names.
func Find(name string) (Info, error) {
	for _, s := range All {
		if s.Name == name {
			return s, nil
		}
	}
	return Info{}, fmt.Errorf("strategy %q: want one of %s", name, strings.Join(Names(), ", "))
}
