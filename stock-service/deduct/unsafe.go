package deduct

import (
	"context"

	"orderstock/stock-service/stock"
)

// unsafe reads the level and then writes what it makes of it, with no lock:
// two at the same time sell the same piece. It shows what the others are for.
type unsafe struct{ ledger Ledger }

func newUnsafe(cfg Config) (Strategy, error) {
	if !cfg.AllowUnsafe {
		return nil, ErrUnsafe
	}
	return &unsafe{cfg.Ledger}, nil
}

// Deduct implements stock.Deducter, but for its promises.
func (s *unsafe) Deduct(ctx context.Context, r stock.Request) (stock.Operation, error) {
	return s.ledger.DeductUnsafe(ctx, r, nil)
}

func (*unsafe) Ready(context.Context) error { return nil }

func (*unsafe) Close() error { return nil }
