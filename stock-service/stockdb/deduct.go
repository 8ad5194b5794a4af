package stockdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// Deduct executes one request in one transaction. It lowers each level, by ascending goods id, if enough is left and no
// later holder of the lock has written. Then it inserts the outcome under its flag, whose primary key rolls back a
// second attempt with all that it took, and the flow rows. Errors as for stock.Deducter.
func (s *DB) Deduct(ctx context.Context, r stock.Request, fence stock.Fence) (operation.Operation, error) {
	op := newOperation(r)
	op.Token = fence.Highest(r.Items)
	take := func(tx *gorm.DB) (short int64, err error) { return takeItems(tx, r.Items, fence) }
	op, err := s.execute(ctx, op, take)
	return s.answer(ctx, op, err)
}

func newOperation(r stock.Request) operation.Operation {
	return operation.Operation{Flag: r.Flag, Items: r.Items}
}

// execute has take lower the levels of the items, or return the first product whose level is too low, and records the
// outcome. It returns the operation also with an error.
func (s *DB) execute(
	ctx context.Context, op operation.Operation, take func(tx *gorm.DB) (short int64, err error),
) (operation.Operation, error) {
	err := s.transact(ctx, goodsOf(op.Items), func(tx *gorm.DB) error {
		op.State, op.Reason = operation.Done, ""
		short, err := take(tx)
		if err != nil {
			return err
		}
		if short != 0 {
			op.State, op.Reason = operation.Rejected, stock.ShortReason(short)
		}
		if err := insertOperations(tx, op); err != nil {
			return err
		}
		return insertFlows(tx, operation.KindDeduct, op)
	})
	return op, err
}

// answer answers a deduction that tried to record op and ended with err.
func (s *DB) answer(ctx context.Context, op operation.Operation, err error) (operation.Operation, error) {
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

// takeItems lowers the level of each product, or returns the first one whose level is too low. Several products are
// locked and read in one statement and lowered in another, so the number of round trips does not grow with the number
// of products.
func takeItems(tx *gorm.DB, items []operation.Item, fence stock.Fence) (short int64, err error) {
	if len(items) == 1 {
		return takeOne(tx, items, fence)
	}
	if short, err = findShort(tx, items, fence, "FOR UPDATE"); err != nil || short != 0 {
		return short, err
	}
	return 0, takeTogether(tx, numsOf(items), fence)
}

// takeOne is takeItems for one product. It reads the level only if the update changes no row.
func takeOne(tx *gorm.DB, items []operation.Item, fence stock.Fence) (short int64, err error) {
	hit, err := takeItem(tx, items[0], fence)
	if err != nil {
		return 0, fmt.Errorf("update stock: %w", err)
	}
	if hit {
		return 0, nil
	}
	if short, err = findShort(tx, items, fence, ""); err == nil && short == 0 {
		err = errMoved
	}
	return short, err
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

// findShort reads the levels: see readLevels. It returns the first product whose level is too low, or 0 if there is
// none, and ErrStaleToken if a later holder of the lock has written one of the rows.
func findShort(tx *gorm.DB, items []operation.Item, fence stock.Fence, lock string) (short int64, err error) {
	levels, err := readLevels(tx, goodsOf(items), lock)
	if err != nil {
		return 0, err
	}
	if short, err = stock.FirstShort(items, levels); err != nil {
		return 0, err
	}
	return short, checkFence(levels, fence)
}

// checkFence returns ErrStaleToken if a later holder of the lock has written one of the rows.
func checkFence(levels map[int64]*stock.Level, fence stock.Fence) error {
	if fence == nil {
		return nil
	}
	for id, level := range levels {
		if own := fence(id); own.Less(level.Token) {
			return fmt.Errorf("%w: product %d was written under %s, later than %s", operation.ErrStaleToken, id, level.Token,
				own)
		}
	}
	return nil
}

// DeductGroup executes many requests in one transaction of six statements, and one more for each further 128 products.
// It locks and reads all rows, allocates the requests in their order, and writes everything together. The results
// answer the requests one by one; a refused request costs the others nothing.
//
// Each row is fenced by the token of its product; an operation records the highest token of its products. Under the nil
// fence, no token is compared or written: the row locks, the condition and the primary key alone isolate the group from
// every other group, even one that holds the lock.
//
// Flags that already have an outcome are not expected here, since the caller has asked Redis or the table. If the
// primary key reveals one, the group starts over, and looks up all its flags.
//
// If another transaction holds the flag or a product of a request for longer than a lock wait, that request is set
// aside with ErrLocked, and the others continue.
//
// The error concerns the group as a whole. After ErrUnavailable, ErrLocked and ErrStaleToken nothing changed; after
// ErrUnknownOutcome that is unknown. After any other error nothing changed either: the database refused a row, and each
// request may succeed by itself.
func (s *DB) DeductGroup(ctx context.Context, requests []stock.Request, fence stock.Fence) ([]stock.Result, error) {
	for wait := 1; ; wait++ {
		held, err := s.held(ctx, requests)
		if err != nil {
			return nil, err
		}
		var free []stock.Request
		for i, r := range requests {
			if held[i] == nil {
				free = append(free, r)
			}
		}
		written, err := s.deductFree(ctx, free, fence)
		if s.caution.Again(err, wait) {
			continue
		}
		if err != nil {
			return nil, err
		}
		results := make([]stock.Result, len(requests))
		for i := range requests {
			if results[i].Err = held[i]; held[i] == nil {
				results[i], written = written[0], written[1:]
			}
		}
		return results, nil
	}
}

// deductFree executes the requests in one transaction.
func (s *DB) deductFree(ctx context.Context, requests []stock.Request, fence stock.Fence) ([]stock.Result, error) {
	switch len(requests) {
	case 0:
		return nil, nil
	case 1: // fewer statements than a group
		op, err := s.Deduct(ctx, requests[0], fence)
		if errors.Is(err, operation.ErrUnavailable) || mysqldb.IsLockWait(err) {
			return nil, err
		}
		return []stock.Result{{Operation: op, Err: err}}, nil
	}
	results, err := s.deductGroup(ctx, requests, fence, false)
	if mysqldb.IsDuplicate(err) {
		return s.deductGroup(ctx, requests, fence, true)
	}
	return results, err
}

// held returns ErrLocked for each request whose flag or product another transaction has held for long, and nil for the
// others.
func (s *DB) held(ctx context.Context, requests []stock.Request) ([]error, error) {
	held := make([]error, len(requests))
	if !s.caution.On() {
		return held, nil
	}
	flags, goods := distinct(requests)
	heldFlags, err := mysqldb.HeldForLong(ctx, &s.caution, s.db, "operations", "flag", flags)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", operation.ErrUnavailable, err)
	}
	heldGoods, err := mysqldb.HeldForLong(ctx, &s.caution, s.db, "stock", "goods_id", goods)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", operation.ErrUnavailable, err)
	}
	for i, r := range requests {
		for _, item := range r.Items {
			if heldGoods[item.GoodsID] {
				held[i] = operation.Locked{GoodsID: item.GoodsID}
			}
		}
		if held[i] == nil && heldFlags[r.Flag] {
			held[i] = operation.ErrLocked
		}
	}
	return held, nil
}

// deductGroup is DeductGroup without setting aside. If look is true it looks up all flags.
func (s *DB) deductGroup(
	ctx context.Context, requests []stock.Request, fence stock.Fence, look bool,
) ([]stock.Result, error) {
	flags, goods := distinct(requests)
	var results []stock.Result
	err := s.transact(ctx, nil, func(tx *gorm.DB) error { // the caller looks for held rows
		levels, err := readLevels(tx, goods, "FOR UPDATE")
		if err != nil {
			return err
		}
		var recorded map[string]operation.Operation
		if look {
			if recorded, err = findOperations(tx, flags); err != nil {
				return err
			}
		}
		if err := checkFence(levels, fence); err != nil {
			return err
		}
		allocation := stock.Allocate(requests, levels, recorded)
		results = allocation.Results
		fresh := newOperations(results, fence)
		if err := insertOperations(tx, fresh...); err != nil {
			return err
		}
		if err := takeTogether(tx, allocation.Taken, fence); err != nil {
			return err
		}
		return insertFlows(tx, operation.KindDeduct, fresh...)
	})
	return results, err
}

// newOperations returns the operations that the group made, by ascending flag, and sets their token.
func newOperations(results []stock.Result, fence stock.Fence) []operation.Operation {
	fresh := make([]operation.Operation, 0, len(results))
	for i := range results {
		if results[i].New() {
			results[i].Operation.Token = fence.Highest(results[i].Operation.Items)
			fresh = append(fresh, results[i].Operation)
		}
	}
	slices.SortFunc(fresh, func(a, b operation.Operation) int { return strings.Compare(a.Flag, b.Flag) })
	return fresh
}

// maxCases bounds the products of one update: for each row, the server evaluates the cases of a CASE one by one.
const maxCases = 128

// takeTogether lowers the levels of all products, under the same conditions as takeItem.
func takeTogether(tx *gorm.DB, taken map[int64]int64, fence stock.Fence) error {
	if len(taken) == 0 {
		return nil
	}
	for goods := range slices.Chunk(slices.Sorted(maps.Keys(taken)), maxCases) {
		if err := takeCases(tx, goods, taken, fence); err != nil {
			return fmt.Errorf("update stock: %w", err)
		}
	}
	return nil
}

func takeCases(tx *gorm.DB, goods []int64, taken map[int64]int64, fence stock.Fence) error {
	num := byProduct(goods, func(id int64) any { return taken[id] })
	set, where, args := "", "", []any{num, now(), goods, num}
	if fence != nil {
		own := tokenOf(goods, fence)
		set, where, args = ", fencing_token = ?", " AND fencing_token <= ?", []any{num, own, now(), goods, num, own}
	}
	done := tx.Exec("UPDATE "+stockByID+" SET num = num - ?"+set+", updated_at = ?"+
		" WHERE goods_id IN ? AND num >= ?"+where, args...)
	if done.Error != nil {
		return done.Error
	}
	if done.RowsAffected != int64(len(goods)) {
		return fmt.Errorf("%w: %d rows of %d changed, though all were locked", operation.ErrStaleToken, done.RowsAffected,
			len(goods))
	}
	return nil
}

// tokenOf returns the token of a row. Products of one lock share a token, which is written once.
func tokenOf(goods []int64, fence stock.Fence) clause.Expr {
	first := fence(goods[0])
	if !slices.ContainsFunc(goods, func(id int64) bool { return fence(id) != first }) {
		return token(first)
	}
	return byProduct(goods, func(id int64) any { return token(fence(id)) })
}

// distinct returns the flags and the goods ids of the requests, each once, in ascending order.
func distinct(requests []stock.Request) (flags []string, goods []int64) {
	for _, r := range requests {
		flags = append(flags, r.Flag)
		goods = append(goods, goodsOf(r.Items)...)
	}
	slices.Sort(flags)
	slices.Sort(goods)
	return slices.Compact(flags), slices.Compact(goods)
}
