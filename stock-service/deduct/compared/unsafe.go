package compared

import (
	"context"

	"orderstock/stock-service/stock"
)

// unsafe reads the level and then writes what is left, without a lock. Two
// deductions at the same time sell the same piece. It shows what the other
// strategies are for.
type unsafe struct{ ledger Ledger }

// Deduct oversells, contrary to the promise of stock.Deducter.
func (s unsafe) Deduct(ctx context.Context, r stock.Request) (stock.Operation, error) {
	return s.ledger.DeductUnsafe(ctx, r)
}

func (unsafe) Ready(context.Context) error { return nil }

func (unsafe) Close() error { return nil }
