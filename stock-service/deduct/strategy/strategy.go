// Package strategy lists the strategies of deduction. It links none of them, so
// that a program which only names them does not carry their clients.
package strategy

import (
	"fmt"
	"strings"
)

// Info describes a strategy.
type Info struct {
	Name string
	// Summary says in one line how the strategy keeps concurrent deductions apart.
	Summary string
	// LockServer is the server that holds the strategy's locks: "ZooKeeper",
	// "Redis", or "" if it takes none.
	LockServer string
	// Unsafe is true if the strategy oversells.
	Unsafe bool
}

// Default is the strategy of a stock service that is told none.
const Default = "grouped"

// All is the one list of the strategies, in the order in which the load test
// compares them: from the simplest to the default.
var All = []Info{
	{Name: "unsafe", Summary: "reads, then writes, without a lock: oversells, and the verdict says so; only with `--allow-unsafe`", Unsafe: true},
	{Name: "single-node", Summary: "one ephemeral node for each product, watched by all waiters: the herd",
		LockServer: "ZooKeeper"},
	{Name: "case-study", Summary: "as published, with its faults put right: one lock for all products, a new session for each lock", LockServer: "ZooKeeper"},
	{Name: "zk-lock", Summary: "the lock of the ZooKeeper client library for each product: no fencing token",
		LockServer: "ZooKeeper"},
	{Name: "sequential", Summary: "a mutex for each product, taken in order; one session for the process", LockServer: "ZooKeeper"},
	{Name: "redis-lock", Summary: "a Redlock for each product (redsync): no fencing token", LockServer: "Redis"},
	{Name: "conditional-update", Summary: "no lock: the condition of the update and the row locks of the database"},
	{Name: Default, Summary: "one lock; all operations that wait go in one transaction with one commit", LockServer: "ZooKeeper"},
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
