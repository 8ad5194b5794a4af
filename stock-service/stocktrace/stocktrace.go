// Package stocktrace records the steps of the stock service that go through its ports. The steps under the lock are
// recorded by package deduct and, for SQL, by the connection.
package stocktrace

import (
	"context"

	"go.opentelemetry.io/otel/attribute"

	"orderstock/pkg/tracing"
	"orderstock/stock-service/stock"
)

// Flags returns f with its steps recorded.
func Flags(f stock.Flags) stock.Flags { return flags{f} }

type flags struct{ stock.Flags }

func (f flags) Take(ctx context.Context, flag string) bool {
	ctx, step := tracing.Step(ctx, "take-flag")
	first := f.Flags.Take(ctx, flag)
	step.Set(attribute.Bool("first", first))
	step.End(nil)
	return first
}

// Ledger returns l with its steps recorded.
func Ledger(l stock.Ledger) stock.Ledger { return ledger{l} }

type ledger struct{ stock.Ledger }

func (l ledger) Find(ctx context.Context, flags ...string) (map[string]stock.Operation, error) {
	ctx, step := tracing.Step(ctx, "lookup-flow")
	found, err := l.Ledger.Find(ctx, flags...)
	step.Set(attribute.Int("found", len(found)))
	step.End(err)
	return found, err
}

func (l ledger) Cancel(ctx context.Context, flag string) (stock.Operation, error) {
	ctx, step := tracing.Step(ctx, "cancel-operation")
	op, err := l.Ledger.Cancel(ctx, flag)
	step.Set(attribute.String("state", string(op.State)))
	step.End(err)
	return op, err
}

func (l ledger) Restock(ctx context.Context, r stock.Restock) (stock.Goods, error) {
	ctx, step := tracing.Step(ctx, "restock")
	goods, err := l.Ledger.Restock(ctx, r)
	step.End(err)
	return goods, err
}
