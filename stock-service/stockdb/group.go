package stockdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorm.io/gorm"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// DeductGroup executes many requests in one transaction of six statements, and one more for each further 128 products.
// It locks and reads all rows, allocates the requests in their order, and writes all results together. The outcomes
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
func (s *DB) DeductGroup(ctx context.Context, requests []stock.Request, fence stock.Fence) ([]stock.Outcome, error) {
	write := func(ctx context.Context, requests []stock.Request) ([]stock.Outcome, error) {
		if len(requests) == 1 { // fewer statements than a group
			op, err := s.Deduct(ctx, requests[0], fence)
			if errors.Is(err, operation.ErrUnavailable) || mysqldb.IsLockWait(err) {
				return nil, err
			}
			return []stock.Outcome{{Operation: op, Err: err}}, nil
		}
		outcomes, err := s.deductGroup(ctx, requests, fence, false)
		if mysqldb.IsDuplicate(err) {
			return s.deductGroup(ctx, requests, fence, true)
		}
		return outcomes, err
	}
	return mysqldb.SetAside(ctx, &s.caution, requests, s.held, write)
}

// held refuses each request whose flag or product another transaction holds.
func (s *DB) held(ctx context.Context, requests []stock.Request) ([]*stock.Outcome, error) {
	flags, goods := distinct(requests)
	heldFlags, err := mysqldb.Held(ctx, s.db, "operations", "flag", flags)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", operation.ErrUnavailable, err)
	}
	heldGoods, err := mysqldb.Held(ctx, s.db, "stock", "goods_id", goods)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", operation.ErrUnavailable, err)
	}
	held := make([]*stock.Outcome, len(requests))
	for i, r := range requests {
		for _, item := range r.Items {
			if heldGoods[item.GoodsID] {
				held[i] = &stock.Outcome{Err: operation.Locked{GoodsID: item.GoodsID}}
			}
		}
		if held[i] == nil && heldFlags[r.Flag] {
			held[i] = &stock.Outcome{Err: operation.ErrLocked}
		}
	}
	return held, nil
}

// deductGroup is DeductGroup without setting aside. If look is true it looks up all flags.
func (s *DB) deductGroup(
	ctx context.Context, requests []stock.Request, fence stock.Fence, look bool,
) ([]stock.Outcome, error) {
	flags, goods := distinct(requests)
	var outcomes []stock.Outcome
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
		for id, level := range levels {
			if fence != nil && fence(id).Less(level.Token) {
				return staleToken(id, level.Token, fence(id))
			}
		}
		allocation := stock.Allocate(requests, levels, recorded)
		outcomes = allocation.Outcomes
		fresh := newOperations(outcomes, fence)
		if err := insertOperations(tx, fresh...); err != nil {
			return err
		}
		if err := takeTogether(tx, allocation.Taken, fence); err != nil {
			return err
		}
		return insertFlows(tx, operation.KindDeduct, fresh...)
	})
	return outcomes, err
}

// newOperations returns the operations that the group made, by ascending flag, and sets their token.
func newOperations(outcomes []stock.Outcome, fence stock.Fence) []operation.Operation {
	fresh := make([]operation.Operation, 0, len(outcomes))
	for i := range outcomes {
		if outcomes[i].New() {
			outcomes[i].Operation.Token = fence.Highest(outcomes[i].Operation.Items)
			fresh = append(fresh, outcomes[i].Operation)
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
	num := "CASE goods_id" + strings.Repeat(" WHEN ? THEN ?", len(goods)) + " END"
	cases := make([]any, 0, 2*len(goods))
	for _, id := range goods {
		cases = append(cases, id, taken[id])
	}
	set, where, own := "", "", []any(nil)
	if fence != nil {
		text, tokens := tokenOf(goods, fence)
		set, where, own = ", fencing_token = "+text, " AND fencing_token <= "+text, tokens
	}
	args := slices.Concat(cases, own, []any{now(), goods}, cases, own)
	done := tx.Exec("UPDATE "+stockByID+" SET num = num - "+num+set+", updated_at = ?"+
		" WHERE goods_id IN ? AND num >= "+num+where, args...)
	if done.Error != nil {
		return done.Error
	}
	if done.RowsAffected != int64(len(goods)) {
		return fmt.Errorf("%w: %d rows of %d changed, though all were locked", operation.ErrStaleToken, done.RowsAffected,
			len(goods))
	}
	return nil
}

// tokenOf returns an expression for the token of a row, with its arguments. Products of one lock share a token, which
// is written once.
func tokenOf(goods []int64, fence stock.Fence) (text string, args []any) {
	first := fence(goods[0])
	if !slices.ContainsFunc(goods, func(id int64) bool { return fence(id) != first }) {
		return "?", []any{token(first)}
	}
	for _, id := range goods {
		args = append(args, id, token(fence(id)))
	}
	return "CASE goods_id" + strings.Repeat(" WHEN ? THEN ?", len(goods)) + " END", args
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
