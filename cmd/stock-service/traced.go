package main

import (
	"context"

	"go.opentelemetry.io/otel/attribute"

	"orderstock/pkg/operation"
	"orderstock/pkg/tracing"
	"orderstock/stock-service/stock"
)

// steps names statements in traces by their beginnings.
var steps = map[string]string{
	"UPDATE stock SET num":     "update-stock",
	"UPDATE stock FORCE INDEX": "update-stock",
	"INSERT INTO operations":   "insert-operation",
	"INSERT INTO stock_flow":   "insert-flow",
}

// traced records the steps that go through the ports of the service. The steps under the lock are recorded by package
// deduct and, for SQL, by the connection.
var traced tracedPorts

type tracedPorts struct{}

func (tracedPorts) flags(f stock.Flags) stock.Flags    { return tracedFlags{f} }
func (tracedPorts) ledger(l stock.Ledger) stock.Ledger { return tracedLedger{l} }

type tracedFlags struct{ stock.Flags }

func (f tracedFlags) Take(ctx context.Context, flag string) bool {
	ctx, step := tracing.Step(ctx, "take-flag")
	first := f.Flags.Take(ctx, flag)
	step.Set(attribute.Bool("first", first))
	step.End(nil)
	return first
}

type tracedLedger struct{ stock.Ledger }

func (l tracedLedger) Find(ctx context.Context, flags ...string) (map[string]operation.Operation, error) {
	ctx, step := tracing.Step(ctx, "lookup-flow")
	found, err := l.Ledger.Find(ctx, flags...)
	step.Set(attribute.Int("found", len(found)))
	step.End(err)
	return found, err
}

func (l tracedLedger) Cancel(ctx context.Context, flag string) (operation.Operation, error) {
	ctx, step := tracing.Step(ctx, "cancel-operation")
	op, err := l.Ledger.Cancel(ctx, flag)
	step.Set(attribute.String("state", string(op.State)))
	step.End(err)
	return op, err
}

func (l tracedLedger) Restock(ctx context.Context, r operation.Restock) (operation.Goods, error) {
	ctx, step := tracing.Step(ctx, "restock")
	goods, err := l.Ledger.Restock(ctx, r)
	step.End(err)
	return goods, err
}
