package compared

import (
	"context"
	"time"

	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// inTheDatabase implements optimistic and pessimistic: the statements of one transaction isolate
// deductions.
type inTheDatabase struct {
	deduct func(ctx context.Context, r stock.Request) (operation.Operation, error)
	limit  time.Duration // of one deduction, with all its tries
}

// Deduct implements stock.Deducter.
func (s inTheDatabase) Deduct(ctx context.Context, r stock.Request) (operation.Operation, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	return s.deduct(ctx, r)
}

// Ready implements deduct.Strategy.
func (inTheDatabase) Ready(context.Context) error { return nil }

// Close implements deduct.Strategy.
func (inTheDatabase) Close() error { return nil }
