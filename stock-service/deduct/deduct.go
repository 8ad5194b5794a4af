package deduct

import (
	"context"
	"fmt"
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
	// DeductGroup executes many requests in one transaction, each row under the token of its product. The outcomes have
	// the order of the requests.
	DeductGroup(ctx context.Context, requests []stock.Request, fence stock.Fence) ([]stock.Outcome, error)
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
	// WrapLock, if not nil, wraps the acquisition of every lock. Tests use it to observe and break locks.
	WrapLock func(Acquire) Acquire
}

// DefaultLockTimeout is the default of Config.LockTimeout.
const DefaultLockTimeout = 1500 * time.Millisecond

// MaxGroup is the maximum number of operations in one transaction.
const MaxGroup = 256

// New returns the strategy of that name: grouped, grouped-rows, sequential or conditional-update. Callers must Close
// it.
func New(name string, cfg Config) (Strategy, error) {
	switch name {
	case "grouped":
		return newGrouped(cfg), nil
	case "grouped-rows":
		return newGroupedRows(cfg), nil
	case "sequential":
		return newSequential(cfg), nil
	case "conditional-update":
		return conditionalUpdate{cfg.Ledger}, nil
	}
	return nil, fmt.Errorf("strategy %q is not in this package", name)
}
