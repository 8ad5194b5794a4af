// Package orderdb keeps the orders in MySQL or MariaDB.
//
// Concurrent calls of one kind share round trips (see pkg/batch): inserts become one multi-row insert and one commit,
// changes of status one update for each kind of change, look-ups one read. A lone call is sent at once.
//
// Reads and locks go through gorm, which reads NULL as "". The statements that write the rows of many orders are made
// by hand, as mysqldb.Statement explains. The server sets updated_at: an order's age counts from it, and the clocks of
// replicas differ.
//
// # The order of locks
//
// Every transaction locks its rows in one order, so that no deadlock is possible:
//
//  1. entries of the key index, by ascending key: inserts, which lock no existing row,
//  2. rows of orders, by ascending id: moves,
//  3. rows of order_items, which only their order's insert locks.
package orderdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"orderstock/order-service/order"
	"orderstock/pkg/batch"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/retry"
)

// batchLimit bounds the work on one batch.
const batchLimit = 5 * time.Second

// DB is the store of orders. Safe for concurrent use; make one with New.
type DB struct {
	db      *gorm.DB
	inserts *batch.Queue[order.Order, insertion]
	moves   *batch.Queue[order.Move, moved]
	byKey   *lookUps[string]
	byID    *lookUps[int64]

	inserting, moving mysqldb.Caution
}

var _ order.Store = (*DB)(nil)

// newOrder are the columns of a new row of orders.
const newOrder = "id, status, idempotency_key, body_hash, total, created_at, updated_at, trace"

var itemTable = mysqldb.Table{Name: "order_items", Columns: "order_id, goods_id, num, price"}

// Tables are the tables that the store writes, for mysqldb.ReadyCheck.
var Tables = []mysqldb.Table{{Name: "orders", Columns: newOrder + ", outcome, reason"}, itemTable}

// One batch of a kind is in flight at a time. Two cost more than they gain, as measured: the batches are half as large,
// and MySQL and this process spend a third more on each order.

// New returns the store in the database db, which must have the schema of migrations/order.
func New(db *gorm.DB) *DB {
	d := &DB{db: db}
	d.inserts = batch.Func(d.insert, batch.WithTimeout(batchLimit))
	d.moves = batch.Func(d.move, batch.WithTimeout(batchLimit))
	d.byKey = batch.Shared(d.ordersByKey, batch.WithTimeout(batchLimit))
	d.byID = batch.Shared(d.ordersByID, batch.WithTimeout(batchLimit))
	return d
}

// Close waits for the batches in flight. The database stays open.
func (d *DB) Close() {
	d.inserts.Close()
	d.moves.Close()
	d.byKey.Close()
	d.byID.Close()
}

// unavailable maps a failure that changed nothing to the domain's ErrOverloaded or ErrUnavailable.
func unavailable(what string, err error) error {
	if errors.Is(err, batch.ErrFull) {
		return fmt.Errorf("%s: %w: %w", what, order.ErrOverloaded, err)
	}
	return fmt.Errorf("%s: %w: %w", what, order.ErrUnavailable, err)
}

// unwritten maps a write's failure to the domain's error: ErrUnanswered, unless nothing can have changed.
func unwritten(ctx context.Context, what string, err error) error {
	err = batch.Errors{Full: order.ErrOverloaded, Undone: order.ErrUnavailable, Unknown: order.ErrUnanswered}.Of(ctx, err)
	switch {
	case errors.Is(err, order.ErrOverloaded), errors.Is(err, order.ErrUnavailable), errors.Is(err, order.ErrUnanswered):
		return fmt.Errorf("%s: %w", what, err)
	case errors.Is(err, mysqldb.ErrCommitUnknown):
		return fmt.Errorf("%s: %w: %w", what, order.ErrUnanswered, err)
	}
	return unavailable(what, err)
}

// again calls fn, and retries after a failure that may pass, four calls at most. fn must be safe to repeat: a read or a
// guarded update. A refusal other than a deadlock is final, and so is a lock wait, because further calls wait for the
// batch. If any call of fn may have changed something, the error wraps mysqldb.ErrCommitUnknown, regardless of the last
// call's error.
func again(ctx context.Context, fn func() error) error {
	var unknown error
	err := retry.Run(ctx, pauses, func() error {
		err := fn()
		if errors.Is(err, mysqldb.ErrCommitUnknown) {
			unknown = err
		}
		if final(err) {
			return retry.Stop(err)
		}
		return err
	})
	if err != nil && unknown != nil {
		return errors.Join(unknown, err)
	}
	return err
}

var pauses = retry.Policy{First: 2 * time.Millisecond, Max: 100 * time.Millisecond, Tries: 4}

// final reports whether a statement that failed with err would fail, or wait too long, again.
func final(err error) bool {
	return mysqldb.IsLockWait(err) || mysqldb.IsRefusal(err) && !mysqldb.IsDeadlock(err)
}
