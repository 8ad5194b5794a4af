package stockdb

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	stock "orderstock/stock-service"
)

// DeductUnsafe carries one request out by reading the levels and then writing
// them, trusting that nobody else does so at the same time. Nothing checks it.
func (s *DB) DeductUnsafe(ctx context.Context, r stock.Request, fence stock.Fence) (stock.Operation, error) {
	op := stock.Operation{Flag: r.Flag, State: stock.Done, Items: r.Items, Token: fence.Highest(r.Items)}
	err := s.transact(ctx, func(tx *gorm.DB) error {
		op.State, op.Reason = stock.Done, ""
		levels, err := readLevels(tx, goodsOf(r.Items), "")
		if err != nil {
			return err
		}
		short, err := stock.FirstShort(r.Items, levels)
		if err != nil {
			return err
		}
		if short != 0 {
			op.State, op.Reason = stock.Rejected, stock.ShortReason(short)
			return insertOperations(tx, op)
		}
		if err := insertOperations(tx, op); err != nil {
			return err
		}
		for _, item := range r.Items {
			err := tx.Exec("UPDATE stock SET num = ?, updated_at = ? WHERE goods_id = ?", levels[item.GoodsID].Num-item.Num, now(), item.GoodsID).Error
			if err != nil {
				return fmt.Errorf("update stock: %w", err)
			}
		}
		return insertFlows(ctx, tx, stock.KindDeduct, op)
	})
	return s.settle(ctx, op, err)
}
