//go:build faults

package main

import (
	"context"
	"database/sql/driver"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/order-service/order"
	"orderstock/pkg/operation"
)

// faults puts the points of the protocol's steps between the service and its ports.
var faults faultPorts

type faultPorts struct{}

// spread reports whether the replicas of the stock service take turns, so that a fault in one of them strikes.
func (faultPorts) spread() bool { return os.Getenv("STOCK_SPREAD") == "true" }

// connector passes a point inside the transaction that inserts orders.
func (faultPorts) connector(c driver.Connector) driver.Connector {
	return faultpoint.Connector(c, map[string]faultpoint.Step{"INSERT INTO order_items ": faultpoint.InsertItems})
}

func (faultPorts) store(s order.Store) order.Store     { return faultyStore{s} }
func (faultPorts) stock(s order.Stock) order.Stock     { return faultyStock{s} }
func (faultPorts) flags(f order.Flags) order.Flags     { return faultyFlags{f} }
func (faultPorts) handler(h http.Handler) http.Handler { return faultpoint.Control(h) }

// point passes a point and wraps its error in the one that the port documents.
func point(
	ctx context.Context, step faultpoint.Step, when faultpoint.When, as error, with ...faultpoint.Values,
) error {
	if err := faultpoint.At(ctx, step, when, with...); err != nil {
		return fmt.Errorf("%w: %w", as, err)
	}
	return nil
}

type faultyStore struct{ order.Store }

func (s faultyStore) Insert(ctx context.Context, o order.Order) (order.Order, bool, error) {
	ctx = faultpoint.Carry(ctx, o.Flag())
	if err := point(ctx, faultpoint.InsertOrder, faultpoint.Before, order.ErrUnavailable); err != nil {
		return order.Order{}, false, err
	}
	stored, inserted, err := s.Store.Insert(ctx, o)
	if err != nil {
		return stored, inserted, err
	}
	said := faultpoint.Values{Said: strconv.FormatBool(inserted), To: string(stored.Status)}
	return stored, inserted, point(ctx, faultpoint.InsertOrder, faultpoint.After, order.ErrUnanswered, said)
}

func (s faultyStore) Move(ctx context.Context, m order.Move) (bool, error) {
	step := faultpoint.SetStatus
	if m.To == order.Cancelling {
		step = faultpoint.CancelOrder
	}
	ctx = faultpoint.Carry(ctx, strconv.FormatInt(m.ID, 10))
	if err := point(ctx, step, faultpoint.Before, order.ErrUnavailable); err != nil {
		return false, err
	}
	moved, err := s.Store.Move(ctx, m)
	if err != nil {
		return moved, err
	}
	said := faultpoint.Values{From: string(m.From), To: string(m.To), Said: strconv.FormatBool(moved)}
	return moved, point(ctx, step, faultpoint.After, order.ErrUnanswered, said)
}

// Stuck passes the points of the reconciler, which uses it to find unsettled orders.
func (s faultyStore) Stuck(ctx context.Context, status order.Status, after int64, changed time.Time,
	limit int,
) ([]order.Order, error) {
	if err := point(ctx, faultpoint.Reconcile, faultpoint.Before, order.ErrUnavailable); err != nil {
		return nil, err
	}
	found, err := s.Store.Stuck(ctx, status, after, changed, limit)
	if err != nil {
		return nil, err
	}
	return found, point(ctx, faultpoint.Reconcile, faultpoint.After, order.ErrUnavailable)
}

type faultyStock struct{ order.Stock }

func (s faultyStock) Deduct(ctx context.Context, flag string, items []operation.Item) (operation.Operation, error) {
	ctx = faultpoint.Carry(ctx, flag)
	if err := point(ctx, faultpoint.CallStock, faultpoint.Before, operation.ErrUnavailable); err != nil {
		return operation.Operation{}, err
	}
	op, err := s.Stock.Deduct(ctx, flag, items)
	said := faultpoint.Values{Said: string(op.State), Error: faultpoint.Failed(err)}
	if err != nil {
		faultpoint.Record(ctx, faultpoint.CallStock, faultpoint.After, said)
		return op, err
	}
	return op, point(ctx, faultpoint.CallStock, faultpoint.After, operation.ErrUnknownOutcome, said)
}

func (s faultyStock) Cancel(ctx context.Context, flag string) (operation.Operation, error) {
	ctx = faultpoint.Carry(ctx, flag)
	if err := point(ctx, faultpoint.CancelFlag, faultpoint.Before, operation.ErrUnavailable); err != nil {
		return operation.Operation{}, err
	}
	op, err := s.Stock.Cancel(ctx, flag)
	said := faultpoint.Values{Said: string(op.State), Error: faultpoint.Failed(err)}
	if err != nil {
		faultpoint.Record(ctx, faultpoint.CancelFlag, faultpoint.After, said)
		return op, err
	}
	return op, point(ctx, faultpoint.CancelFlag, faultpoint.After, operation.ErrUnknownOutcome, said)
}

func (s faultyStock) Recorded(ctx context.Context, flag string) (operation.Operation, bool, error) {
	ctx = faultpoint.Carry(ctx, flag)
	if err := point(ctx, faultpoint.Confirm, faultpoint.Before, operation.ErrUnavailable); err != nil {
		return operation.Operation{}, false, err
	}
	op, found, err := s.Stock.Recorded(ctx, flag)
	if err != nil {
		return op, found, err
	}
	said := faultpoint.Values{Said: string(op.State)}
	return op, found, point(ctx, faultpoint.Confirm, faultpoint.After, operation.ErrUnavailable, said)
}

type faultyFlags struct{ order.Flags }

func (f faultyFlags) Set(ctx context.Context, flag string) bool {
	ctx = faultpoint.Carry(ctx, flag)
	if faultpoint.At(ctx, faultpoint.SetFlag, faultpoint.Before) != nil {
		return false
	}
	return f.Flags.Set(ctx, flag) && faultpoint.At(ctx, faultpoint.SetFlag, faultpoint.After) == nil
}
