package compared

import (
	"context"
	"errors"
	"fmt"

	"orderstock/stock-service/deduct"
	"orderstock/stock-service/deduct/strategy"
	"orderstock/stock-service/stock"
)

// Ledger is the ledger of package deduct and, for the unsafe strategy, a
// deduction that nothing protects.
type Ledger interface {
	deduct.Ledger
	// DeductUnsafe reads the levels and then writes them, as if nobody else did.
	DeductUnsafe(ctx context.Context, r stock.Request, fence stock.Fence) (stock.Operation, error)
}

// Config says what a strategy works with. Ledger takes the place of
// deduct.Config's.
type Config struct {
	deduct.Config
	Ledger Ledger
	// Redis is the host:port of the server that holds redis-lock's locks.
	Redis string
	// AllowUnsafe permits a strategy that oversells.
	AllowUnsafe bool
}

// ErrUnsafe is returned for a strategy that oversells, unless it is allowed.
var ErrUnsafe = errors.New("the strategy oversells; start with --allow-unsafe to see it do so")

// New returns the strategy of that name, of this package or of package deduct.
// Callers must Close it.
func New(name string, cfg Config) (deduct.Strategy, error) {
	info, err := strategy.Find(name)
	if err != nil {
		return nil, err
	}
	if info.Unsafe && !cfg.AllowUnsafe {
		return nil, fmt.Errorf("strategy %s: %w", name, ErrUnsafe)
	}
	cfg.Config.Ledger = cfg.Ledger
	switch name {
	case "unsafe":
		return unsafe{cfg.Ledger}, nil
	case "case-study":
		return newCaseStudy(cfg), nil
	case "single-node":
		return newSingleNode(cfg), nil
	case "zk-lock":
		return newZKLock(cfg)
	case "redis-lock":
		return newRedisLock(cfg), nil
	}
	return deduct.New(name, cfg.Config)
}
