package stockdb

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	stock "orderstock/stock-service"
)

// Cancel implements stock.Ledger. It needs no lock: the row of the flag is
// held from the first statement on, so that a deduction and a cancellation of
// one flag follow one another, whichever comes first.
func (s *DB) Cancel(ctx context.Context, flag string) (stock.Operation, error) {
	var op stock.Operation
	err := s.transact(ctx, func(tx *gorm.DB) (err error) {
		op, err = cancel(tx, flag)
		return err
	})
	if errors.Is(err, stock.ErrUnknownOutcome) {
		found, readErr := s.resolve(ctx, flag, err)
		if readErr == nil && found.State != stock.Done { // a deduction that is still there was not cancelled, so far
			return found, nil
		}
	}
	if err != nil {
		return stock.Operation{}, err
	}
	return op, nil
}

func cancel(tx *gorm.DB, flag string) (stock.Operation, error) {
	// Either way the row is there and held after this: a plain insert that fails
	// would hold it for reading only, and two of them would wait for each other.
	made := tx.Exec(`INSERT INTO operations (flag, state, items, created_at) VALUES (?, ?, '', ?)
		ON DUPLICATE KEY UPDATE flag = flag`, flag, string(stock.Cancelled), now())
	if made.Error != nil {
		return stock.Operation{}, fmt.Errorf("insert cancellation: %w", made.Error)
	}
	if made.RowsAffected == 1 {
		return stock.Operation{Flag: flag, State: stock.Cancelled}, nil
	}
	recorded, err := findOperations(tx, []string{flag})
	if err != nil {
		return stock.Operation{}, err
	}
	op, ok := recorded[flag]
	if !ok {
		return stock.Operation{}, fmt.Errorf("read operation %s: held, yet not there", flag)
	}
	if op.State != stock.Done {
		return op, nil
	}
	op.State, op.Repeat = stock.Restored, false
	return op, restore(tx, op)
}

// restore gives the items of a deduction back.
func restore(tx *gorm.DB, op stock.Operation) error {
	done := tx.Exec("UPDATE operations SET state = ? WHERE flag = ? AND state = ?", string(stock.Restored), op.Flag, string(stock.Done))
	if done.Error != nil {
		return fmt.Errorf("update operation: %w", done.Error)
	}
	if done.RowsAffected != 1 {
		return fmt.Errorf("update operation %s: held as done, yet not there", op.Flag)
	}
	for _, item := range op.Items {
		done := tx.Exec("UPDATE stock SET num = num + ?, updated_at = ? WHERE goods_id = ?", item.Num, now(), item.GoodsID)
		if done.Error != nil {
			return fmt.Errorf("update stock: %w", done.Error)
		}
		if done.RowsAffected != 1 {
			return fmt.Errorf("update stock: goods %d is gone", item.GoodsID)
		}
	}
	return insertFlows(tx, stock.KindRestore, op)
}
