package stockdb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"orderstock/pkg/operation"
)

// Cancel implements stock.Ledger. It needs no lock in ZooKeeper: if a deduction under the flag commits between its read
// and its write, the write changes no row, and the transaction runs again.
func (s *DB) Cancel(ctx context.Context, flag string) (operation.Operation, error) {
	var op operation.Operation
	err := s.transact(ctx, nil, func(tx *gorm.DB) (err error) {
		op, err = cancel(tx, flag)
		return err
	})
	switch {
	case errors.Is(err, operation.ErrUnknownOutcome):
		found, readErr := s.resolve(ctx, flag, err)
		if readErr == nil && found.State != operation.Done { // Done would mean that the cancellation did not commit
			return found, nil
		}
	case errors.Is(err, operation.ErrLocked):
		err = fmt.Errorf("%w: %s", s.whichLocked(ctx, goodsOf(op.Items)), err.Error()) // its code counts alone
	}
	if err != nil {
		return operation.Operation{}, err
	}
	return op, nil
}

// cancel ends the flag according to the record under it. It returns errMoved if the record has changed since.
func cancel(tx *gorm.DB, flag string) (operation.Operation, error) {
	recorded, err := findOperations(tx, []string{flag})
	if err != nil {
		return operation.Operation{}, err
	}
	op, ok := recorded[flag]
	switch {
	case !ok:
		op = operation.Operation{Flag: flag, State: operation.Cancelled, Items: []operation.Item{}}
		return op, insertTombstone(tx, op)
	case op.State != operation.Done:
		return op, nil
	}
	op.State, op.Repeat = operation.Restored, false
	return op, restore(tx, op)
}

// insertTombstone records a cancellation that arrived first. Two plain inserts that find a row could deadlock, since
// each takes a shared lock on it; this one takes an exclusive one.
func insertTombstone(tx *gorm.DB, op operation.Operation) error {
	made := tx.Exec(`INSERT INTO operations (flag, state, items, created_at) VALUES (?, ?, '', ?)
		ON DUPLICATE KEY UPDATE flag = flag`, op.Flag, string(op.State), now())
	if made.Error != nil {
		return fmt.Errorf("insert cancellation: %w", made.Error)
	}
	if made.RowsAffected != 1 {
		return errMoved
	}
	return nil
}

// restore returns the items of a deduction to the stock.
func restore(tx *gorm.DB, op operation.Operation) error {
	for items := range slices.Chunk(op.Items, maxCases) {
		if err := giveBack(tx, items); err != nil {
			return fmt.Errorf("update stock: %w", err)
		}
	}
	done := tx.Exec("UPDATE operations SET state = ? WHERE flag = ? AND state = ?",
		string(operation.Restored), op.Flag, string(operation.Done))
	if done.Error != nil {
		return fmt.Errorf("update operation: %w", done.Error)
	}
	if done.RowsAffected != 1 {
		return errMoved
	}
	return insertFlows(tx, operation.KindRestore, op)
}

// giveBack raises the levels of the items by one statement, which locks them by ascending goods id.
func giveBack(tx *gorm.DB, items []operation.Item) error {
	goods, nums := goodsOf(items), numsOf(items)
	done := tx.Exec("UPDATE "+stockByID+" SET num = num + ?, updated_at = ? WHERE goods_id IN ? ORDER BY goods_id",
		byProduct(goods, func(id int64) any { return nums[id] }), now(), goods)
	if done.Error != nil {
		return done.Error
	}
	if done.RowsAffected != int64(len(items)) {
		return fmt.Errorf("%d of %d products are there", done.RowsAffected, len(items))
	}
	return nil
}
