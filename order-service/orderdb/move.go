package orderdb

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"orderstock/order-service/order"
	"orderstock/pkg/mysqldb"
)

// maxReason is the width of the column in characters.
const maxReason = 200

// kindOf returns the move without its order. Moves of one kind share an update.
func kindOf(m order.Move) order.Move {
	m.ID = 0
	if utf8.RuneCountInString(m.Reason) > maxReason {
		m.Reason = string([]rune(m.Reason)[:maxReason])
	}
	return m
}

// moved is the answer to one move.
type moved struct {
	done bool
	err  error // of this move alone
}

// Move implements order.Store. Concurrent moves share an update for each kind. The update reports only how many rows it
// changed: if those are fewer than it names, all of its moves return false. A move that was not answered may be
// repeated: the guard lets it through once.
func (d *DB) Move(ctx context.Context, m order.Move) (bool, error) {
	moved, err := d.moves.Do(ctx, m)
	if err == nil {
		err = moved.err
	}
	if err != nil {
		return false, unwritten(ctx, "change status", err)
	}
	return moved.done, nil
}

// move makes the moves of a batch, except those whose order another transaction holds.
func (d *DB) move(ctx context.Context, moves []order.Move) ([]moved, error) {
	ids := make([]int64, len(moves))
	for i, m := range moves {
		ids[i] = m.ID
	}
	for wait := 1; ; wait++ {
		held, err := mysqldb.HeldForLong(ctx, &d.moving, d.db, "orders", "id", ids)
		if err != nil {
			return nil, err
		}
		complete, err := d.update(ctx, moves, held)
		if d.moving.Again(err, wait) {
			continue
		}
		if err != nil {
			return nil, err
		}
		outs := make([]moved, len(moves))
		for i, m := range moves {
			outs[i].done = complete[kindOf(m)]
			if held[m.ID] {
				outs[i] = moved{err: mysqldb.ErrHeld}
			}
		}
		return outs, nil
	}
}

// update makes the moves whose orders are not held. It returns the kinds that all their orders have made.
func (d *DB) update(
	ctx context.Context, moves []order.Move, held map[int64]bool,
) (complete map[order.Move]bool, err error) {
	kinds, ids := map[order.Move][]int64{}, []int64(nil)
	for _, m := range moves {
		if !held[m.ID] {
			k := kindOf(m)
			kinds[k], ids = append(kinds[k], m.ID), append(ids, m.ID)
		}
	}
	if len(ids) == 0 {
		return complete, nil
	}
	err = again(ctx, func() error {
		complete, err = d.updateOnce(ctx, kinds, distinct(ids))
		return err
	})
	return complete, err
}

// updateOnce makes the moves of the orders with these ids. It returns the kinds that all their orders have made.
func (d *DB) updateOnce(ctx context.Context, kinds map[order.Move][]int64, ids []int64) (map[order.Move]bool, error) {
	complete := make(map[order.Move]bool, len(kinds))
	if len(kinds) == 1 { // one round trip, not three
		for k := range kinds {
			changed, err := mysqldb.Exec(ctx, d.db, string(moveOrders(k, ids)))
			if err != nil {
				return nil, fmt.Errorf("update status: %w", err)
			}
			complete[k] = changed == int64(len(ids))
		}
		return complete, nil
	}
	err := mysqldb.TransactOnce(ctx, d.db, func(tx *gorm.DB) error {
		if err := lockOrders(tx, ids); err != nil { // for all kinds together
			return fmt.Errorf("lock orders: %w", err)
		}
		for k, ids := range kinds {
			ids = distinct(ids)
			update := moveOrders(k, ids)
			changed, err := update.Exec(tx)
			if err != nil {
				return fmt.Errorf("update status: %w", err)
			}
			complete[k] = changed == int64(len(ids))
		}
		return nil
	})
	return complete, err
}

// distinct returns the ids, each once, in ascending order: the same lock order in all batches.
func distinct(ids []int64) []int64 { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// lockOrders locks the rows of the orders by ascending id.
func lockOrders(tx *gorm.DB, ids []int64) error {
	var locked []int64
	return tx.Table("orders FORCE INDEX (PRIMARY)").Clauses(clause.Locking{Strength: "UPDATE"}).
		Where("id IN ?", ids).Order("id").Pluck("id", &locked).Error
}

// moveOrders returns the guarded update of all orders that make the same kind of move, made by hand: see
// mysqldb.Statement. The hint keeps a server with outdated statistics from walking, and locking, the whole index of one
// status.
func moveOrders(kind order.Move, ids []int64) mysqldb.Statement {
	from, to, outcome := mysqldb.Raw(kind.From), mysqldb.Raw(kind.To), mysqldb.Raw("")
	if kind.To.IsOutcome() { // it is kept forever
		outcome = ", outcome = COALESCE(outcome, '" + to + "')"
	}
	s := make(mysqldb.Statement, 0, 256+20*len(ids))
	s.Add("UPDATE orders FORCE INDEX (PRIMARY) SET status = '"+to+"', reason = ", kind.Reason,
		outcome+", updated_at = UTC_TIMESTAMP(6) WHERE id IN (", ids, ") AND status = '"+from+"'")
	return s
}
