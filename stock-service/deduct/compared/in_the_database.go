package compared

import (
	"cmp"
	"context"

	"orderstock/pkg/operation"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/stock"
)

// inTheDatabase executes one request in one transaction, whose statements alone isolate deductions.
type inTheDatabase func(ctx context.Context, r stock.Request) (operation.Operation, error)

// conditionalUpdate takes no lock: the condition of the update and the row locks isolate deductions.
func conditionalUpdate(ledger Ledger) inTheDatabase {
	return func(ctx context.Context, r stock.Request) (operation.Operation, error) {
		return ledger.Deduct(ctx, r, nil)
	}
}

// bounded returns d with a bound on each deduction, with all its tries: the lock timeout.
func (d inTheDatabase) bounded(cfg Config) inTheDatabase {
	return func(ctx context.Context, r stock.Request) (operation.Operation, error) {
		ctx, cancel := context.WithTimeout(ctx, cmp.Or(cfg.LockTimeout, deduct.DefaultLockTimeout))
		defer cancel()
		return d(ctx, r)
	}
}

// Deduct implements stock.Deducter.
func (d inTheDatabase) Deduct(ctx context.Context, r stock.Request) (operation.Operation, error) {
	return d(ctx, r)
}

// Ready implements deduct.Strategy.
func (inTheDatabase) Ready(context.Context) error { return nil }

// Close implements deduct.Strategy.
func (inTheDatabase) Close() error { return nil }
