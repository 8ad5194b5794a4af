package stockdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"

	"gorm.io/gorm"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// buckets is the number of rows over which DeductSkipLocked spreads a product, and so the maximum number of concurrent
// deductions of the product.
const buckets = 16

// levelOf is the level of a row of stock, including the pieces in its buckets. Only DeductSkipLocked fills those.
const levelOf = `num + CAST(COALESCE((SELECT SUM(b.num) FROM stock_buckets b WHERE b.goods_id = stock.goods_id), 0)
	AS SIGNED) AS num`

// DeductSkipLocked executes one request on the first bucket of each product that has enough and that no other
// transaction holds. If all buckets with enough are held, it waits for one of them. If none has enough, it locks the
// product with all its buckets, decides by their sum, and redistributes the rest. This also moves the pieces of
// restocks and cancellations, which add to stock.num, into the buckets. Errors as for stock.Deducter.
//
// No other strategy sees the pieces in the buckets: a service must not switch to another strategy with stock left.
//
// It extends the order of locks: after the row of a product come its buckets, by ascending number, and then the next
// product. No transaction that holds a later row waits for a bucket that was taken while others were skipped.
func (s *DB) DeductSkipLocked(ctx context.Context, r stock.Request) (stock.Operation, error) {
	op := stock.Operation{Flag: r.Flag, Items: r.Items}
	return s.deduct(ctx, op, func(tx *gorm.DB, last bool) (int64, error) {
		return takeFromBuckets(tx, r.Items, last) // the last try waits for all buckets
	})
}

// takeFromBuckets takes the items, in their order. It returns errShort with the first product whose level is too low.
func takeFromBuckets(tx *gorm.DB, items []operation.Item, gather bool) (short int64, err error) {
	for i, item := range items {
		taken := false
		if !gather {
			taken, err = takeFromBucket(tx, item)
		}
		if err == nil && !taken {
			err = gatherAndTake(tx, item)
		}
		if errors.Is(err, errShort) {
			// No outcome is recorded for a request for an unknown product, even if another product is short.
			levels, readErr := readLevels(tx, goodsOf(items[i:]), "")
			if readErr != nil {
				return 0, readErr
			}
			if _, unknown := stock.FirstShort(items[i:], levels); unknown != nil {
				return 0, unknown
			}
			return item.GoodsID, errShort
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// takeFromBucket takes the item from one bucket, and returns false if none has enough.
func takeFromBucket(tx *gorm.DB, item operation.Item) (bool, error) {
	const enough = "SELECT bucket FROM stock_buckets WHERE goods_id = ? AND num >= ?"
	bucket, found, err := readBucket(tx, enough+" LIMIT 1 FOR UPDATE SKIP LOCKED", item.GoodsID, item.Num)
	if err != nil {
		return false, err
	}
	if !found {
		var held []int
		if err := tx.Raw(enough, item.GoodsID, item.Num).Scan(&held).Error; err != nil {
			return false, fmt.Errorf("read buckets: %w", err)
		}
		if len(held) == 0 {
			return false, nil
		}
		bucket = held[rand.IntN(len(held))] // the update waits for it
	}
	done := tx.Exec("UPDATE stock_buckets SET num = num - ? WHERE goods_id = ? AND bucket = ? AND num >= ?",
		item.Num, item.GoodsID, bucket, item.Num)
	switch {
	case done.Error != nil:
		return false, fmt.Errorf("update bucket: %w", done.Error)
	case done.RowsAffected != 1:
		return false, errMoved
	}
	return true, nil
}

func readBucket(tx *gorm.DB, query string, args ...any) (bucket int, found bool, err error) {
	err = tx.Raw(query, args...).Row().Scan(&bucket)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("lock bucket: %w", err)
	}
	return bucket, true, nil
}

// gatherAndTake takes the item from the product as a whole and spreads the rest over the buckets.
func gatherAndTake(tx *gorm.DB, item operation.Item) error {
	levels, err := readLevels(tx, []int64{item.GoodsID}, "FOR UPDATE")
	if err != nil {
		return err
	}
	level, ok := levels[item.GoodsID]
	if !ok {
		return fmt.Errorf("%w: %d", stock.ErrUnknownGoods, item.GoodsID)
	}
	var pieces []int64
	err = tx.Raw("SELECT num FROM stock_buckets WHERE goods_id = ? ORDER BY bucket FOR UPDATE", item.GoodsID).
		Scan(&pieces).Error
	if err != nil {
		return fmt.Errorf("lock buckets: %w", err)
	}
	left := level.Num - item.Num
	for _, n := range pieces {
		left += n
	}
	if left < 0 {
		return errShort
	}
	s := make(mysqldb.Statement, 0, 512)
	s.Text("INSERT INTO stock_buckets (goods_id, bucket, num) VALUES ")
	for i := range int64(buckets) {
		if i > 0 {
			s.Text(",")
		}
		s.Text("(")
		s.Ints([]int64{item.GoodsID, i, left/buckets + min(1, max(0, left%buckets-i))})
		s.Text(")")
	}
	s.Text(" ON DUPLICATE KEY UPDATE num = VALUES(num)")
	if _, err := s.Exec(tx); err != nil {
		return fmt.Errorf("fill buckets: %w", err)
	}
	err = tx.Exec("UPDATE stock SET num = 0, updated_at = ? WHERE goods_id = ?", now(), item.GoodsID).Error
	if err != nil {
		return fmt.Errorf("update stock: %w", err)
	}
	return nil
}
