package deduct

import (
	"context"

	"orderstock/pkg/batch"
	"orderstock/stock-service/stock"
)

// groupedRows makes groups as grouped does, and takes no lock: the condition of the update and the row locks of the
// database keep the groups of several processes apart, and no token fences them.
type groupedRows struct{ grouped }

func newGroupedRows(cfg Config) Strategy {
	g := &groupedRows{grouped{ledger: cfg.Ledger, metrics: newGroupMetrics(cfg.Metrics)}}
	g.calls = batch.New(g.run, batch.WithMaxSize(maxGroup), batch.WithMaxQueue(maxWaiting),
		batch.WithTimeout(groupLimit), batch.WithGather(gatherPart))
	return g
}

func (g *groupedRows) run(ctx context.Context, take func() []*groupCall) {
	calls := take()
	for i, outcome := range g.carryOut(ctx, calls, stock.Token{}) {
		calls[i].Resolve(outcome.Operation, outcome.Err)
	}
}

// Ready implements Strategy.
func (*groupedRows) Ready(context.Context) error { return nil }

// Close implements Strategy.
func (g *groupedRows) Close() error {
	g.calls.Close()
	return nil
}
