package deduct

import (
	"context"

	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// groupedRows forms groups of all waiting operations, regardless of their products, and takes no lock: the condition of
// the update and the database's row locks isolate the groups of several processes, and no token fences them.
type groupedRows struct{ groups *groups }

func newGroupedRows(cfg Config) Strategy {
	return groupedRows{newGroups(cfg, newGroupMetrics(cfg.Metrics))}
}

// Deduct implements stock.Deducter.
func (g groupedRows) Deduct(ctx context.Context, r stock.Request) (operation.Operation, error) {
	return g.groups.deduct(ctx, r)
}

// Ready implements Strategy.
func (groupedRows) Ready(context.Context) error { return nil }

// Close implements Strategy.
func (g groupedRows) Close() error {
	g.groups.calls.Close()
	return nil
}
