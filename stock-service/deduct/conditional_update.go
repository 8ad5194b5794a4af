package deduct

import (
	"context"

	"orderstock/stock-service/stock"
)

// conditionalUpdate takes no lock at all: the conditions of the update and the
// database's row locks do.
type conditionalUpdate struct{ ledger Ledger }

func newConditionalUpdate(cfg Config) (Strategy, error) {
	return &conditionalUpdate{cfg.Ledger}, nil
}

// Deduct implements stock.Deducter.
func (s *conditionalUpdate) Deduct(ctx context.Context, r stock.Request) (stock.Operation, error) {
	return s.ledger.Deduct(ctx, r, nil)
}

func (*conditionalUpdate) Ready(context.Context) error { return nil }

func (*conditionalUpdate) Close() error { return nil }
