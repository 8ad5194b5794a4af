// Package stockdb keeps the stock service's ledger in MySQL or MariaDB.
//
// Its transactions alone decide the outcome: the record under its flag, the conditional decrement of each level, and
// the flow rows, all or nothing.
//
// # The order of locks
//
// Every transaction locks its rows in one order, so that two of them do not deadlock on rows that exist:
//
//  1. rows of stock, by ascending goods id,
//  2. rows of operations, by ascending flag,
//  3. rows of stock_flow,
//  4. rows of restocks.
//
// A cancellation must know the items of the operation before it can lock their rows. It reads them without locks. A
// guarded update then shows whether they have changed; if so, the transaction runs again.
//
// A restock looks for its flag in the tables of others after it has written its own, where a row may be missing: two
// users of one flag may deadlock, and the server ends one. Transact repeats that one.
//
// # Statements
//
// gorm writes the reads of products, and the rows of a restock. All other statements are written by hand: one has the
// rows of a whole group, and gorm has no index hint.
package stockdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"orderstock/pkg/batch"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// DB is the ledger. It is safe for concurrent use. Make one with New.
type DB struct {
	db    *gorm.DB
	finds *batch.Queue[[]string, map[string]operation.Operation]

	caution mysqldb.Caution
}

var _ stock.Ledger = (*DB)(nil)

var (
	operationTable = mysqldb.Table{Name: "operations", Columns: "flag, state, reason, items, fencing_token, created_at"}
	flowTable      = mysqldb.Table{Name: "stock_flow", Columns: "flag, goods_id, kind, num, created_at"}
)

// Tables are the tables that the ledger writes, for mysqldb.ReadyCheck.
var Tables = []mysqldb.Table{
	{Name: "stock", Columns: "goods_id, name, price, num, fencing_token, updated_at, version"},
	operationTable, flowTable,
	{Name: "restocks", Columns: "flag, goods_id, name, price"},
}

// New returns the ledger in db, which must have the schema of migrations/stock. Callers must Close it.
func New(db *gorm.DB) *DB {
	s := &DB{db: db}
	s.finds = batch.Shared(func(ctx context.Context, calls [][]string) (map[string]operation.Operation, error) {
		return findOperations(db.WithContext(ctx), slices.Concat(calls...))
	}, batch.WithTimeout(readLimit))
	return s
}

// Close waits for the shared look-ups in progress. The database stays open.
func (s *DB) Close() { s.finds.Close() }

const (
	// readLimit bounds a look-up that several callers share.
	readLimit = 3 * time.Second
	// resolveLimit bounds the read of an outcome whose commit was not answered.
	resolveLimit = time.Second
	// lockedLimit bounds the look for the product that is held. It is longer than a wait for a table.
	lockedLimit = 2 * time.Second
)

// transact runs fn in a transaction that writes the rows of these products. It returns unchanged fn's decisions, which
// are errVersion and the errors with a code, and the server's refusal of a row. If the commit was not answered, the
// error is ErrUnknownOutcome. After too long a wait for a row it is ErrLocked, which names the product if one of these
// is held. Any other error, also after too many tries or too long a wait for a table, is ErrUnavailable: nothing
// changed.
func (s *DB) transact(ctx context.Context, goods []int64, fn func(tx *gorm.DB) error) error {
	err := mysqldb.Transact(ctx, s.db, fn)
	switch {
	case err == nil, errors.Is(err, errVersion), operation.CodeOf(err) != (operation.Code{}):
		return err
	case errors.Is(err, mysqldb.ErrCommitUnknown):
		return fmt.Errorf("%w: %w", operation.ErrUnknownOutcome, err)
	case mysqldb.IsRefusal(err):
		return err
	case mysqldb.IsLockWait(err):
		return fmt.Errorf("%w: %w", s.whichLocked(ctx, goods), err)
	}
	return fmt.Errorf("%w: %w", operation.ErrUnavailable, err)
}

// whichLocked returns the Locked of the first of these products that another transaction holds, or ErrUnavailable if a
// session holds the whole table, or else ErrLocked.
func (s *DB) whichLocked(ctx context.Context, goods []int64) error {
	ctx, cancel := context.WithTimeout(ctx, lockedLimit)
	defer cancel()
	held, err := mysqldb.Held(ctx, s.db, "stock", "goods_id", goods)
	if mysqldb.IsLockWait(err) { // it waits for no row
		return fmt.Errorf("%w: %w", operation.ErrUnavailable, err)
	}
	for _, id := range goods {
		if err == nil && held[id] {
			return operation.Locked{GoodsID: id}
		}
	}
	return operation.ErrLocked
}

// errMoved ends a transaction whose guarded update changed no row although a read says that it should. It runs again.
var errMoved = fmt.Errorf("row changed concurrently: %w", mysqldb.ErrAgain)

// resolve reads the outcome of a flag whose commit was not answered. It uses another connection and a separate timeout,
// since the caller's may be over. It returns unresolved(cause) if nothing is recorded: the commit may still be in
// progress.
func (s *DB) resolve(ctx context.Context, flag string, cause error) (operation.Operation, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveLimit)
	defer cancel()
	recorded, err := findOperations(s.db.WithContext(ctx), []string{flag})
	if err != nil {
		return operation.Operation{}, unresolved(errors.Join(cause, err))
	}
	if op, ok := recorded[flag]; ok {
		return op, nil
	}
	return operation.Operation{}, unresolved(cause)
}

// unresolved returns the error of a change whose outcome could not be read: a commit that was not answered leaves it
// unknown; a flag that is in use changed nothing.
func unresolved(cause error) error {
	if errors.Is(cause, operation.ErrUnknownOutcome) {
		return cause
	}
	return fmt.Errorf("%w: %w", operation.ErrUnavailable, cause)
}
