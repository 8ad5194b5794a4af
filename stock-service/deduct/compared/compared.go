// Package compared holds the deduction strategies that are kept only for comparison with package deduct's, which lists
// and describes all of them. All but unsafe are correct, because the transaction of package stockdb is.
package compared

import (
	"context"
	"errors"
	"fmt"

	"orderstock/pkg/operation"
	"orderstock/pkg/redisdb"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/stock"
)

// Ledger adds the methods that only the strategies of this package need to package deduct's Ledger.
type Ledger interface {
	deduct.Ledger
	// DeductOptimistic lowers a level only if its version has not changed since it was read, and retries until ctx ends.
	DeductOptimistic(ctx context.Context, r stock.Request) (operation.Operation, error)
	// DeductPessimistic reads the levels FOR UPDATE, and writes the new ones.
	DeductPessimistic(ctx context.Context, r stock.Request) (operation.Operation, error)
	// DeductUnsafe reads the levels and then writes them, as if there were no concurrent writers: two of them sell the
	// same piece. It shows why the other strategies are needed.
	DeductUnsafe(ctx context.Context, r stock.Request) (operation.Operation, error)
}

// Config configures a strategy. Its Ledger replaces the one in deduct.Config.
type Config struct {
	deduct.Config
	Ledger Ledger
	// Redis is the server for redis-lock's locks, under keys that begin with stocklock:. Sentinels are not supported.
	Redis redisdb.Server
	// AllowUnsafe permits a strategy that is not safe.
	AllowUnsafe bool
}

// ErrUnsafe is returned for a strategy that is not safe, unless it is allowed.
var ErrUnsafe = errors.New("refused without --allow-unsafe")

// Check returns an error if there is no strategy of that name, or cfg does not permit it.
func (cfg Config) Check(name string) error {
	info, err := deduct.Find(name)
	switch {
	case err != nil:
		return err
	case info.Unsafe() && !cfg.AllowUnsafe:
		return fmt.Errorf("strategy %s %s; %w", name, info.Warning, ErrUnsafe)
	case name == "redis-lock" && cfg.Redis.Master != "":
		return fmt.Errorf("%s needs one Redis server: REDIS_ADDR with one address", name)
	}
	return nil
}

// New returns the strategy of that name, of this package or of package deduct. Callers must Close it.
func New(name string, cfg Config) (deduct.Strategy, error) {
	if err := cfg.Check(name); err != nil {
		return nil, err
	}
	cfg.Config.Ledger = cfg.Ledger
	switch name {
	case "unsafe":
		return inTheDatabase(cfg.Ledger.DeductUnsafe), nil
	case "conditional-update":
		return conditionalUpdate(cfg.Ledger), nil
	case "pessimistic":
		return inTheDatabase(cfg.Ledger.DeductPessimistic).bounded(cfg), nil
	case "optimistic":
		return inTheDatabase(cfg.Ledger.DeductOptimistic).bounded(cfg), nil
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
