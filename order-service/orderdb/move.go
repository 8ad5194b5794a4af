package orderdb

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"gorm.io/gorm"

	order "orderstock/order-service"
	"orderstock/pkg/mysqldb"
)

// step is a kind of change; those who make the same one share an update.
type step struct {
	from, to order.Status
	reason   string
}

// maxReason is how many characters the column holds.
const maxReason = 200

func stepOf(m order.Move) step {
	reason := m.Reason
	if utf8.RuneCountInString(reason) > maxReason {
		reason = string([]rune(reason)[:maxReason])
	}
	return step{m.From, m.To, reason}
}

// Move implements order.Store. Concurrent moves share an update for each step,
// which tells only how many rows it changed: where they are fewer than it named,
// all of its moves are told false. A move that was not answered may be made
// again: the guard lets it through once.
func (d *DB) Move(ctx context.Context, m order.Move) (bool, error) {
	moved, err := d.moves.Do(ctx, m)
	if err != nil {
		return false, unwritten(ctx, "change status", err)
	}
	return moved, nil
}

func (d *DB) move(ctx context.Context, moves []order.Move) ([]bool, error) {
	steps := map[step][]int64{}
	for _, m := range moves {
		s := stepOf(m)
		steps[s] = append(steps[s], m.ID)
	}
	complete := map[step]bool{}
	update := func(exec func(statement string) (int64, error)) error {
		at := time.Now()
		for s, ids := range steps {
			slices.Sort(ids) // one order of locking for all batches
			ids = slices.Compact(ids)
			changed, err := exec(moveOrders(s, ids, at))
			if err != nil {
				return fmt.Errorf("update status: %w", err)
			}
			complete[s] = changed == int64(len(ids))
		}
		return nil
	}
	err := again(ctx, func() error {
		if len(steps) == 1 { // one round trip, not three
			return update(func(statement string) (int64, error) { return mysqldb.Exec(ctx, d.db, statement) })
		}
		return mysqldb.Transact(ctx, d.db, func(tx *gorm.DB) error {
			return update(func(statement string) (int64, error) { return exec(ctx, tx, statement) })
		})
	})
	if err != nil {
		return nil, err
	}
	moved := make([]bool, len(moves))
	for i, m := range moves {
		moved[i] = complete[stepOf(m)]
	}
	return moved, nil
}
