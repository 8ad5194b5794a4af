package stockdb

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// Deduct executes one request in one transaction. It lowers each level, by ascending goods id, if enough is left and no
// later holder of the lock has written. Then it inserts the outcome under its flag, whose primary key rolls back a
// second attempt with all that it took, and the flow rows. Errors as for stock.Deducter.
func (s *DB) Deduct(ctx context.Context, r stock.Request, fence stock.Fence) (operation.Operation, error) {
	op := operation.Operation{Flag: r.Flag, State: operation.Done, Items: r.Items, Token: fence.Highest(r.Items)}
	var short int64
	err := s.transact(ctx, goodsOf(r.Items), func(tx *gorm.DB) (err error) {
		if short, err = takeItems(tx, r.Items, fence); err != nil {
			return err
		}
		if err := insertOperations(tx, op); err != nil {
			return err
		}
		return insertFlows(tx, operation.KindDeduct, op)
	})
	if errors.Is(err, errShort) {
		// The transaction is rolled back, with the items that it took.
		op.State, op.Reason = operation.Rejected, stock.ShortReason(short)
		err = s.transact(ctx, nil, func(tx *gorm.DB) error { return insertOperations(tx, op) })
	}
	return s.settle(ctx, op, err)
}

// settle returns the answer to a deduction that tried to record op and ended with err.
func (s *DB) settle(ctx context.Context, op operation.Operation, err error) (operation.Operation, error) {
	switch {
	case err == nil:
		return op, nil
	case mysqldb.IsDuplicate(err), errors.Is(err, operation.ErrUnknownOutcome):
		recorded, err := s.resolve(ctx, op.Flag, err)
		if err != nil {
			return operation.Operation{}, err
		}
		return recorded.Answer(op.Items)
	}
	return operation.Operation{}, err
}

// takeItems lowers the level of each product. It returns errShort with the first product whose level is too low.
// Several products are locked and read in one statement and lowered in another, so the number of round trips does not
// grow with the number of products.
func takeItems(tx *gorm.DB, items []operation.Item, fence stock.Fence) (short int64, err error) {
	if len(items) > 1 {
		return takeLocked(tx, items, fence)
	}
	for i, item := range items {
		hit, err := takeItem(tx, item, fence)
		if err != nil {
			return 0, fmt.Errorf("update stock: %w", err)
		}
		if !hit {
			return missedReason(tx, items[i:], fence)
		}
	}
	return 0, nil
}

// takeLocked is takeItems for several products.
func takeLocked(tx *gorm.DB, items []operation.Item, fence stock.Fence) (short int64, err error) {
	levels, err := readLevels(tx, goodsOf(items), "FOR UPDATE")
	if err != nil {
		return 0, err
	}
	if short, err = stock.FirstShort(items, levels); err != nil {
		return 0, err
	}
	if err := checkFence(items, levels, fence); err != nil {
		return 0, err
	}
	if short != 0 {
		return short, errShort
	}
	taken := make(map[int64]int64, len(items))
	for _, item := range items {
		taken[item.GoodsID] = item.Num
	}
	return 0, takeTogether(tx, taken, fence)
}

func takeItem(tx *gorm.DB, item operation.Item, fence stock.Fence) (hit bool, err error) {
	set, where := "num = num - ?, updated_at = ?", "goods_id = ? AND num >= ?"
	args := []any{item.Num, now()}
	if fence != nil {
		set += ", fencing_token = ?"
		args = append(args, token(fence(item.GoodsID)))
	}
	args = append(args, item.GoodsID, item.Num)
	if fence != nil {
		where += " AND fencing_token <= ?"
		args = append(args, token(fence(item.GoodsID)))
	}
	done := tx.Exec("UPDATE stock SET "+set+" WHERE "+where, args...)
	return done.RowsAffected == 1, done.Error
}

// missedReason reads the rows of the items that were not taken, and returns the reason why the first was not.
func missedReason(tx *gorm.DB, items []operation.Item, fence stock.Fence) (short int64, err error) {
	levels, err := readLevels(tx, goodsOf(items), "")
	if err != nil {
		return 0, err
	}
	short, err = stock.FirstShort(items, levels)
	if err != nil {
		return 0, err
	}
	if err := checkFence(items, levels, fence); err != nil {
		return 0, err
	}
	if short == 0 {
		return 0, errMoved
	}
	return short, errShort
}

// checkFence returns ErrStaleToken if a later holder of the lock has written one of the rows.
func checkFence(items []operation.Item, levels map[int64]*stock.Level, fence stock.Fence) error {
	if fence == nil {
		return nil
	}
	for _, item := range items {
		if level, own := levels[item.GoodsID], fence(item.GoodsID); level != nil && own.Less(level.Token) {
			return staleToken(item.GoodsID, level.Token, own)
		}
	}
	return nil
}

func staleToken(goodsID int64, written, own operation.Token) error {
	return fmt.Errorf("%w: product %d was written under %s, later than %s", operation.ErrStaleToken, goodsID, written, own)
}
