package stockdb

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

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
