// Package deduct holds the deduction strategies of the stock service. A strategy serializes concurrent operations on
// the same products, and so decides who waits for whom. The transaction of package stockdb alone makes a deduction
// correct.
//
// # Reading order
//
//  1. sequential.go: the published shape. Take the lock of each product, execute one operation in a transaction,
//     release after the commit.
//  2. grouped.go: the default. The same for all waiting callers: one group, one transaction, under the locks of all
//     partitions that it touches.
//  3. lock.go: a lock, how it is taken and released, and what its loss ends.
//  4. keeper.go: the lock of one partition, kept from group to group, and the response to a stuck holder.
//
// Package compared holds the strategies that are kept for comparison with these.
package deduct

import (
	"context"
	"fmt"
	"strings"
	"time"

	"orderstock/pkg/coordination"
	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// Strategy is a stock.Deducter with its own connections.
type Strategy interface {
	stock.Deducter
	// Ready returns nil while the servers that the strategy needs answer.
	Ready(ctx context.Context) error
	// Close ends the strategy's work and closes its connections. No Deduct may be in progress.
	Close() error
}

// Ledger executes deductions. Its errors are the errors of stock.Deducter. A nil fence, or the zero token, means that
// no lock is held.
type Ledger interface {
	// Deduct executes one request in one transaction.
	Deduct(ctx context.Context, r stock.Request, fence stock.Fence) (operation.Operation, error)
	// DeductGroup executes many requests in one transaction, each row under the token of its product. The results have
	// the order of the requests.
	DeductGroup(ctx context.Context, requests []stock.Request, fence stock.Fence) ([]stock.Result, error)
}

// Config configures a strategy.
type Config struct {
	// Config holds the ZooKeeper settings. The strategy registers its metrics with Config.Metrics, if not nil.
	coordination.Config
	Ledger Ledger
	// LockTimeout bounds the wait for the locks of one deduction. Default DefaultLockTimeout. Strategy grouped uses
	// LockPatience instead.
	LockTimeout time.Duration
	// LockPatience is the minimum pause before each look at the holder of a partition's lock while a group waits for it.
	// If two looks find the same holder, the group runs without its locks. Default 100 ms.
	LockPatience time.Duration
	// Partitions is the number of partitions of the stock under strategy grouped. Processes with different numbers refuse
	// some of each other's writes and reacquire their locks; no write is wrong. Default operation.Partitions.
	Partitions int
	// MaxGroup bounds the operations of one transaction under the strategies that form groups. Default, and maximum,
	// MaxGroup.
	MaxGroup int
	// WrapLock, if not nil, wraps the acquisition of every lock. The build with fault points breaks locks there.
	WrapLock func(Acquire) Acquire
}

// DefaultLockTimeout is the default of Config.LockTimeout.
const DefaultLockTimeout = 1500 * time.Millisecond

// MaxGroup is the maximum number of operations in one transaction.
const MaxGroup = 256

// New returns the strategy of that name: grouped, grouped-rows or sequential. Callers must Close it.
func New(name string, cfg Config) (Strategy, error) {
	switch name {
	case "grouped":
		return newGrouped(cfg), nil
	case "grouped-rows":
		return newGroupedRows(cfg), nil
	case "sequential":
		return newSequential(cfg), nil
	}
	return nil, fmt.Errorf("strategy %q is not in this package", name)
}

// Default is the strategy of a stock service that names none.
const Default = "grouped"

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

// Strategies lists the strategies of this package and of package compared, in the order that the load test compares
// them: from the simplest to the default.
var Strategies = []Info{
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
	{Name: "conditional-update", Summary: "no lock: the condition of the update and the row locks"},
	{Name: "grouped-rows", Summary: "the groups of `grouped` without its lock: the condition and the row locks"},
	{
		Name: Default, LockServer: "ZooKeeper",
		Summary: "a lock for each partition, by default one for all; waiting operations share a transaction",
	},
}

// Names returns the names of all strategies, in the order of Strategies.
func Names() []string {
	names := make([]string, len(Strategies))
	for i, s := range Strategies {
		names[i] = s.Name
	}
	return names
}

// Find returns the strategy of that name. The error lists the names.
func Find(name string) (Info, error) {
	for _, s := range Strategies {
		if s.Name == name {
			return s, nil
		}
	}
	return Info{}, fmt.Errorf("strategy %q: want one of %s", name, strings.Join(Names(), ", "))
}
