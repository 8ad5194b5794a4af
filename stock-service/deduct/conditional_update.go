package deduct

import (
	"context"

	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// conditionalUpdate takes no lock. The condition of the update and the database's row locks isolate deductions.
type conditionalUpdate struct{ ledger Ledger }

// Deduct implements stock.Deducter.
func (s conditionalUpdate) Deduct(ctx context.Context, r stock.Request) (operation.Operation, error) {
	return s.ledger.Deduct(ctx, r, nil)
}

func (conditionalUpdate) Ready(context.Context) error { return nil }

func (conditionalUpdate) Close() error { return nil }
