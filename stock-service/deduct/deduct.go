package deduct

import (
	"context"
	"fmt"
	"time"

	"orderstock/pkg/coordination"
	"orderstock/stock-service/stock"
)

// Strategy is a stock.Deducter that holds connections of its own.
type Strategy interface {
	stock.Deducter
	// Ready returns nil while the servers that the strategy needs answer.
	Ready(ctx context.Context) error
	// Close ends the strategy's work and drops its connections. No Deduct may be
	// under way.
	Close() error
}

// Ledger carries deductions out. Its errors are those of stock.Deducter. A nil
// fence and the zero token are work without a lock.
type Ledger interface {
	// Deduct carries one request out in one transaction.
	Deduct(ctx context.Context, r stock.Request, fence stock.Fence) (stock.Operation, error)
	// DeductGroup carries many requests out in one transaction, each row
	// under the token of its product. The outcomes answer the requests one by one.
	DeductGroup(ctx context.Context, requests []stock.Request, fence stock.Fence) ([]stock.Outcome, error)
}

// Config says what a strategy works with.
type Config struct {
	// Config holds the ZooKeeper settings. The strategy registers its metrics with Config.Metrics, if not nil.
	coordination.Config
	Ledger Ledger
	// LockTimeout bounds the wait for the locks of one deduction. Default DefaultLockTimeout.
	// Strategy grouped has LockPatience instead.
	LockTimeout time.Duration
	// LockPatience is the least pause before each look at who holds the lock of a
	// partition while a group waits for it. If two looks find one and the same holder,
	// the group is carried out without its locks. Default 100 ms.
	LockPatience time.Duration
	// Partitions is the number of partitions of the stock under strategy grouped.
	// Processes with different numbers refuse some of each other's writes and take
	// their locks anew; no write is wrong. Default operation.Partitions.
	Partitions int
	// MaxGroup bounds the operations of one transaction under the strategies that make
	// groups. Default, and at most, MaxGroup.
	MaxGroup int
	// WrapLock, if not nil, wraps the acquisition of every lock. Tests use it to
	// watch and break locks.
	WrapLock func(Acquire) Acquire
}

// DefaultLockTimeout is the default of Config.LockTimeout.
const DefaultLockTimeout = 1500 * time.Millisecond

// MaxGroup is the most operations that one transaction holds.
const MaxGroup = 256

// New returns the strategy of that name: grouped, grouped-rows, sequential or
// conditional-update. Callers must Close it.
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
