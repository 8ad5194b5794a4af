package stockdb

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// DeductUnsafe carries one request out by reading the levels and then writing them,
// as if nobody else did so at the same time. Only the fence, if there is one,
// checks it. Package compared shows what that leads to.
func (s *DB) DeductUnsafe(ctx context.Context, r stock.Request, fence stock.Fence) (stock.Operation, error) {
	if err := s.announce(ctx, r.Items, fence); err != nil {
		return stock.Operation{}, err
	}
	return s.overwrite(ctx, r, fence, func(tx *gorm.DB) (map[int64]*stock.Level, error) {
		return readLevels(tx, goodsOf(r.Items), "")
	})
}

// announce writes the holder's token to the rows before their levels are read, and
// so refuses an earlier holder from then on. If the token were written only with
// the level, an earlier holder could write between this holder's read and write.
func (s *DB) announce(ctx context.Context, items []operation.Item, fence stock.Fence) error {
	if fence == nil {
		return nil
	}
	for _, item := range items {
		own := token(fence(item.GoodsID))
		err := s.db.WithContext(ctx).Exec("UPDATE stock SET fencing_token = ? WHERE goods_id = ? AND fencing_token <= ?",
			own, item.GoodsID, own).Error
		if err != nil {
			return fmt.Errorf("%w: announce token: %w", stock.ErrUnavailable, err)
		}
	}
	return nil
}

// overwrite decides the request by the levels that read returns, and writes what is
// left of them.
func (s *DB) overwrite(
	ctx context.Context, r stock.Request, fence stock.Fence, read func(tx *gorm.DB) (map[int64]*stock.Level, error),
) (stock.Operation, error) {
	op := stock.Operation{Flag: r.Flag, State: operation.Done, Items: r.Items, Token: fence.Highest(r.Items)}
	err := s.transact(ctx, func(tx *gorm.DB) error {
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
			if err := overwriteItem(tx, item, levels[item.GoodsID].Num-item.Num, fence); err != nil {
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

func overwriteItem(tx *gorm.DB, item operation.Item, left int64, fence stock.Fence) error {
	set, where, args := "num = ?, updated_at = ?", "goods_id = ?", []any{left, now()}
	if fence == nil {
		args = append(args, item.GoodsID)
	} else {
		own := token(fence(item.GoodsID))
		set, where = set+", fencing_token = ?", where+" AND fencing_token <= ?"
		args = append(args, own, item.GoodsID, own)
	}
	done := tx.Exec("UPDATE stock SET "+set+" WHERE "+where, args...)
	if done.Error != nil {
		return fmt.Errorf("update stock: %w", done.Error)
	}
	if done.RowsAffected != 1 {
		return fmt.Errorf("%w: goods %d", stock.ErrStaleToken, item.GoodsID)
	}
	return nil
}
