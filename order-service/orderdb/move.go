package orderdb

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"orderstock/order-service/order"
	"orderstock/pkg/mysqldb"
)

// step is a kind of change. Moves of one step share an update.
type step struct {
	from, to order.Status
	reason   string
}

// maxReason is the width of the column in characters.
const maxReason = 200

func stepOf(m order.Move) step {
	reason := m.Reason
	if utf8.RuneCountInString(reason) > maxReason {
		reason = string([]rune(reason)[:maxReason])
	}
	return step{m.From, m.To, reason}
}

// moved is the answer to one move.
type moved struct {
	done bool
	err  error // of this move alone
}

// Move implements order.Store. Concurrent moves share an update for each step. The update reports only how many rows it
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

func (d *DB) move(ctx context.Context, moves []order.Move) ([]moved, error) {
	return mysqldb.SetAside(ctx, &d.moving, moves, d.rowsHeld, d.update)
}

// rowsHeld refuses each move whose order another transaction holds.
func (d *DB) rowsHeld(ctx context.Context, moves []order.Move) ([]*moved, error) {
	ids := make([]int64, len(moves))
	for i, m := range moves {
		ids[i] = m.ID
	}
	found, err := mysqldb.Held(ctx, d.db, "orders", "id", ids)
	held := make([]*moved, len(moves))
	for i, id := range ids {
		if found[id] {
			held[i] = &moved{err: mysqldb.ErrHeld}
		}
	}
	return held, err
}

func (d *DB) update(ctx context.Context, moves []order.Move) ([]moved, error) {
	steps, ids := map[step][]int64{}, make([]int64, len(moves))
	for i, m := range moves {
		s := stepOf(m)
		steps[s], ids[i] = append(steps[s], m.ID), m.ID
	}
	var complete map[step]bool
	err := again(ctx, func() (err error) {
		complete, err = d.updateOnce(ctx, steps, distinct(ids))
		return err
	})
	if err != nil {
		return nil, err
	}
	outs := make([]moved, len(moves))
	for i, m := range moves {
		outs[i].done = complete[stepOf(m)]
	}
	return outs, nil
}

// updateOnce makes the steps of the orders with these ids. It returns the steps that all their orders have made.
func (d *DB) updateOnce(ctx context.Context, steps map[step][]int64, ids []int64) (map[step]bool, error) {
	complete := make(map[step]bool, len(steps))
	if len(steps) == 1 { // one round trip, not three
		for s := range steps {
			changed, err := mysqldb.Exec(ctx, d.db, string(moveOrders(s, ids)))
			if err != nil {
				return nil, fmt.Errorf("update status: %w", err)
			}
			complete[s] = changed == int64(len(ids))
		}
		return complete, nil
	}
	tx, err := mysqldb.Begin(ctx, d.db)
	if err != nil {
		return nil, err
	}
	defer tx.End()
	lock := lockOrders(ids) // for all steps together
	if _, err := lock.Exec(tx.DB); err != nil {
		return nil, fmt.Errorf("lock orders: %w", err)
	}
	for s, ids := range steps {
		ids = distinct(ids)
		update := moveOrders(s, ids)
		changed, err := update.Exec(tx.DB)
		if err != nil {
			return nil, fmt.Errorf("update status: %w", err)
		}
		complete[s] = changed == int64(len(ids))
	}
	return complete, tx.Commit()
}

// distinct returns the ids, each once, in ascending order: the same lock order in all batches.
func distinct(ids []int64) []int64 { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// lockOrders returns the statement that locks the rows of the orders by ascending id.
func lockOrders(ids []int64) mysqldb.Statement {
	s := make(mysqldb.Statement, 0, 128+20*len(ids))
	s.Text("SELECT id FROM orders FORCE INDEX (PRIMARY) WHERE id IN (")
	s.Ints(ids)
	s.Text(") ORDER BY id FOR UPDATE")
	return s
}

// moveOrders returns the guarded update of all orders that make the same step. The hint keeps a server with outdated
// statistics from walking, and locking, the whole index of one status.
func moveOrders(step step, ids []int64) mysqldb.Statement {
	s := make(mysqldb.Statement, 0, 256+20*len(ids))
	s.Text("UPDATE orders FORCE INDEX (PRIMARY) SET status = '")
	s.Text(string(step.to))
	s.Text("', reason = ")
	s.UTF8(step.reason)
	if step.to.End() { // the first outcome is kept forever
		s.Text(", outcome = COALESCE(outcome, '")
		s.Text(string(step.to))
		s.Text("')")
	}
	s.Text(", updated_at = UTC_TIMESTAMP(6) WHERE id IN (")
	s.Ints(ids)
	s.Text(") AND status = '")
	s.Text(string(step.from))
	s.Text("'")
	return s
}
