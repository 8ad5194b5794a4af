package stockdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/pkg/retry"
	"orderstock/stock-service/stock"
)

// DeductPessimistic executes one request under the locks of its rows: it reads the levels FOR UPDATE, by ascending
// goods id, decides, and writes the new levels. Errors as for stock.Deducter.
func (s *DB) DeductPessimistic(ctx context.Context, r stock.Request) (operation.Operation, error) {
	op, err := s.readThenWrite(ctx, newOperation(r), levelsOf(r, "FOR UPDATE"), overwrite)
	return s.answer(ctx, op, err)
}

// DeductUnsafe executes one request by reading the levels and then writing them, as if there were no concurrent
// writers. It oversells.
func (s *DB) DeductUnsafe(ctx context.Context, r stock.Request) (operation.Operation, error) {
	op, err := s.readThenWrite(ctx, newOperation(r), levelsOf(r, ""), overwrite)
	return s.answer(ctx, op, err)
}

// DeductOptimistic executes one request without holding a row while it decides: it reads the levels with their
// versions, and lowers each level only if its version is unchanged. Otherwise it starts over after a pause, until ctx
// ends. Errors as for stock.Deducter.
//
// A version counts only these deductions. The update subtracts the pieces if there are enough, so that restocks,
// cancellations and other strategies may change the level in between.
func (s *DB) DeductOptimistic(ctx context.Context, r stock.Request) (operation.Operation, error) {
	again := retry.Policy{First: time.Millisecond, Max: 64 * time.Millisecond}
	op, err := retry.Do(ctx, again, func() (operation.Operation, error) {
		op, err := s.readThenWrite(ctx, newOperation(r), levelsOf(r, ""), lowerUnchanged)
		if errors.Is(err, errVersion) || mysqldb.IsLockWait(err) {
			return op, err
		}
		return op, retry.Stop(err)
	})
	if errors.Is(err, errVersion) || err != nil && ctx.Err() != nil && !errors.Is(err, operation.ErrUnknownOutcome) {
		err = fmt.Errorf("%w: %w", operation.ErrUnavailable, err) // only tries that changed nothing end here
	}
	return s.answer(ctx, op, err)
}

// levelsOf returns a function that reads the levels of the request's products: see readLevels.
func levelsOf(r stock.Request, lock string) func(tx *gorm.DB) (map[int64]*stock.Level, error) {
	return func(tx *gorm.DB) (map[int64]*stock.Level, error) { return readLevels(tx, goodsOf(r.Items), lock) }
}

// readThenWrite is execute by the levels that read returns. It lowers each by write.
func (s *DB) readThenWrite(
	ctx context.Context, op operation.Operation, read func(tx *gorm.DB) (map[int64]*stock.Level, error),
	write func(tx *gorm.DB, item operation.Item, level *stock.Level) error,
) (operation.Operation, error) {
	return s.execute(ctx, op, func(tx *gorm.DB) (short int64, err error) {
		levels, err := read(tx)
		if err != nil {
			return 0, err
		}
		if short, err = stock.FirstShort(op.Items, levels); err != nil || short != 0 {
			return short, err
		}
		for _, item := range op.Items {
			if err := write(tx, item, levels[item.GoodsID]); err != nil {
				return 0, fmt.Errorf("update stock: %w", err)
			}
		}
		return 0, nil
	})
}

// overwrite writes the level that was read, less the item.
func overwrite(tx *gorm.DB, item operation.Item, level *stock.Level) error {
	return tx.Exec("UPDATE stock SET num = ?, updated_at = ? WHERE goods_id = ?",
		level.Num-item.Num, now(), item.GoodsID).Error
}

// errVersion ends a transaction whose versions are outdated.
var errVersion = errors.New("version changed")

// lowerUnchanged lowers the level. It returns errVersion if its version is another one than was read.
func lowerUnchanged(tx *gorm.DB, item operation.Item, level *stock.Level) error {
	done := tx.Exec("UPDATE stock SET num = num - ?, version = version + 1, updated_at = ?"+
		" WHERE goods_id = ? AND version = ? AND num >= ?", item.Num, now(), item.GoodsID, level.Version, item.Num)
	if done.Error == nil && done.RowsAffected != 1 {
		return errVersion
	}
	return done.Error
}
