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
	return s.overwrite(ctx, r, func(tx *gorm.DB) (map[int64]*stock.Level, error) {
		return readLevels(tx, goodsOf(r.Items), "FOR UPDATE")
	})
}

// DeductUnsafe executes one request by reading the levels and then writing them, as if there were no concurrent
// writers. It oversells.
func (s *DB) DeductUnsafe(ctx context.Context, r stock.Request) (operation.Operation, error) {
	return s.overwrite(ctx, r, func(tx *gorm.DB) (map[int64]*stock.Level, error) {
		return readLevels(tx, goodsOf(r.Items), "")
	})
}

// overwrite decides the request by the levels that read returns, and overwrites them with the new ones.
func (s *DB) overwrite(
	ctx context.Context, r stock.Request, read func(tx *gorm.DB) (map[int64]*stock.Level, error),
) (operation.Operation, error) {
	op := operation.Operation{Flag: r.Flag, Items: r.Items}
	err := s.transact(ctx, goodsOf(r.Items), func(tx *gorm.DB) error {
		op.State, op.Reason = operation.Done, ""
		levels, err := read(tx)
		if err != nil {
			return err
		}
		short, err := stock.FirstShort(r.Items, levels)
		if err != nil {
			return err
		}
		if short != 0 {
			op.State, op.Reason = operation.Rejected, stock.ShortReason(short)
			return insertOperations(tx, op)
		}
		for _, item := range r.Items {
			if err := overwriteItem(tx, item.GoodsID, levels[item.GoodsID].Num-item.Num); err != nil {
				return err
			}
		}
		if err := insertOperations(tx, op); err != nil {
			return err
		}
		return insertFlows(tx, operation.KindDeduct, op)
	})
	return s.settle(ctx, op, err)
}

func overwriteItem(tx *gorm.DB, goodsID, left int64) error {
	err := tx.Exec("UPDATE stock SET num = ?, updated_at = ? WHERE goods_id = ?", left, now(), goodsID).Error
	if err != nil {
		return fmt.Errorf("update stock: %w", err)
	}
	return nil
}

// errVersion ends a transaction whose versions are outdated.
var errVersion = errors.New("version changed")

// DeductOptimistic executes one request without holding a row while it decides: it reads the levels with their
// versions, and lowers each level only if its version is unchanged. Otherwise it starts over after a pause, until ctx
// ends. Errors as for stock.Deducter.
//
// A version counts only these deductions. The update subtracts the pieces if there are enough, so that restocks,
// cancellations and other strategies may change the level in between.
func (s *DB) DeductOptimistic(ctx context.Context, r stock.Request) (operation.Operation, error) {
	op := operation.Operation{Flag: r.Flag, Items: r.Items}
	again := retry.Policy{First: time.Millisecond, Max: 64 * time.Millisecond}
	err := retry.Run(ctx, again, func() error {
		err := s.tryVersions(ctx, &op)
		if errors.Is(err, errVersion) || mysqldb.IsLockWait(err) {
			return err
		}
		return retry.Stop(err)
	})
	if errors.Is(err, errVersion) || err != nil && ctx.Err() != nil && !errors.Is(err, operation.ErrUnknownOutcome) {
		err = fmt.Errorf("%w: %w", operation.ErrUnavailable, err) // only tries that changed nothing end here
	}
	return s.settle(ctx, op, err)
}

// tryVersions decides op by the current levels, and records it unless they have changed since. It returns errVersion if
// one has.
func (s *DB) tryVersions(ctx context.Context, op *operation.Operation) error {
	versions, levels, err := s.readVersions(ctx, goodsOf(op.Items))
	if err != nil {
		return fmt.Errorf("%w: %w", operation.ErrUnavailable, err)
	}
	short, err := stock.FirstShort(op.Items, levels)
	if err != nil {
		return err
	}
	if short != 0 { // it was short when read; the versions no longer matter
		op.State, op.Reason = operation.Rejected, stock.ShortReason(short)
		return s.transact(ctx, nil, func(tx *gorm.DB) error { return insertOperations(tx, *op) })
	}
	op.State, op.Reason = operation.Done, ""
	return s.transact(ctx, goodsOf(op.Items), func(tx *gorm.DB) error {
		for _, item := range op.Items {
			done := tx.Exec("UPDATE stock SET num = num - ?, version = version + 1, updated_at = ?"+
				" WHERE goods_id = ? AND version = ? AND num >= ?",
				item.Num, now(), item.GoodsID, versions[item.GoodsID], item.Num)
			if done.Error != nil {
				return fmt.Errorf("update stock: %w", done.Error)
			}
			if done.RowsAffected != 1 {
				return errVersion
			}
		}
		if err := insertOperations(tx, *op); err != nil {
			return err
		}
		return insertFlows(tx, operation.KindDeduct, *op)
	})
}

// readVersions reads the products' levels and versions, outside the transaction.
func (s *DB) readVersions(
	ctx context.Context, goods []int64,
) (versions map[int64]int64, levels map[int64]*stock.Level, err error) {
	var rows []stockRow
	err = s.db.WithContext(ctx).Select("goods_id", "num", "version").Where("goods_id IN ?", goods).Find(&rows).Error
	if err != nil {
		return nil, nil, fmt.Errorf("read versions: %w", err)
	}
	versions, levels = make(map[int64]int64, len(rows)), make(map[int64]*stock.Level, len(rows))
	for _, row := range rows {
		versions[row.GoodsID], levels[row.GoodsID] = row.Version, &stock.Level{Num: row.Num}
	}
	return versions, levels, nil
}
