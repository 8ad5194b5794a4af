package main

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"orderstock/order-service/order"
	"orderstock/pkg/operation"
	"orderstock/pkg/tracing"
)

// traced records the steps of an order that go through the ports of the service, each under the step's name.
var traced tracedPorts

type tracedPorts struct{}

func (tracedPorts) store(s order.Store) order.Store { return tracedStore{s} }
func (tracedPorts) stock(s order.Stock) order.Stock { return tracedStock{s} }
func (tracedPorts) flags(f order.Flags) order.Flags { return tracedFlags{f} }

type tracedStore struct{ order.Store }

func (s tracedStore) Insert(ctx context.Context, o order.Order) (stored order.Order, inserted bool, err error) {
	ctx, step := tracing.Step(ctx, "insert-order")
	stored, inserted, err = s.Store.Insert(ctx, o)
	step.Set(attribute.Bool("inserted", inserted))
	step.End(err)
	return stored, inserted, err
}

func (s tracedStore) Move(ctx context.Context, m order.Move) (bool, error) {
	name := "set-status"
	if m.To == order.Cancelling {
		name = "cancel-order"
	}
	ctx, step := tracing.Step(ctx, name, attribute.String("from", string(m.From)), attribute.String("to", string(m.To)))
	moved, err := s.Store.Move(ctx, m)
	step.Set(attribute.Bool("moved", moved))
	step.End(err)
	return moved, err
}

type tracedStock struct{ order.Stock }

func (s tracedStock) Deduct(ctx context.Context, flag string, items []operation.Item) (operation.Operation, error) {
	return recordCall(ctx, "call-stock", func(ctx context.Context) (operation.Operation, error) {
		return s.Stock.Deduct(ctx, flag, items)
	})
}

func (s tracedStock) Cancel(ctx context.Context, flag string) (operation.Operation, error) {
	return recordCall(ctx, "cancel-flag", func(ctx context.Context) (operation.Operation, error) {
		return s.Stock.Cancel(ctx, flag)
	})
}

func (s tracedStock) Recorded(ctx context.Context, flag string) (op operation.Operation, found bool, err error) {
	op, err = recordCall(ctx, "confirm", func(ctx context.Context) (operation.Operation, error) {
		op, found, err = s.Stock.Recorded(ctx, flag)
		return op, err
	})
	return op, found, err
}

func recordCall(
	ctx context.Context, name string, call func(context.Context) (operation.Operation, error),
) (operation.Operation, error) {
	ctx, step := tracing.Step(ctx, name)
	op, err := call(ctx)
	step.Set(attribute.String("state", string(op.State)))
	step.End(err)
	return op, err
}

type tracedFlags struct{ order.Flags }

func (f tracedFlags) Set(ctx context.Context, flag string) bool {
	ctx, step := tracing.Step(ctx, "set-flag")
	set := f.Flags.Set(ctx, flag)
	step.Set(attribute.Bool("set", set))
	step.End(nil)
	return set
}

// reconcile begins the reconciler's work on an order, for order.Config. The work continues the order's trace,
// with a link to the request that placed it. If that request was not traced, the work is not traced either.
func (tracedPorts) reconcile(ctx context.Context, o order.Order) (_ context.Context, end func(order.Order, error)) {
	first := tracing.Parse(o.Trace)
	if !first.IsSampled() {
		return ctx, func(order.Order, error) {}
	}
	ctx, span := otel.Tracer("orderstock").Start(trace.ContextWithRemoteSpanContext(ctx, first), "reconcile",
		trace.WithLinks(trace.Link{SpanContext: first}),
		trace.WithAttributes(attribute.String(tracing.OrderKey, o.Flag()), attribute.String("from", string(o.Status))))
	return ctx, func(ended order.Order, err error) {
		span.SetAttributes(attribute.String("to", string(ended.Status)))
		tracing.End(span, err)
	}
}
