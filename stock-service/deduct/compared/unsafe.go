package compared

import (
	"context"

	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// unsafe reads the level and then writes the new one, without a lock. Two concurrent deductions sell the same piece. It
// shows why the other strategies are needed.
type unsafe struct{ ledger Ledger }

// Deduct oversells, contrary to the promise of stock.Deducter.
func (s unsafe) Deduct(ctx context.Context, r stock.Request) (operation.Operation, error) {
	return s.ledger.DeductUnsafe(ctx, r)
}

func (unsafe) Ready(context.Context) error { return nil }

func (unsafe) Close() error { return nil }
