package orderdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"gorm.io/gorm"

	order "orderstock/order-service"
	"orderstock/pkg/coalesce"
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

// Move implements order.Store. A move that was not answered may be made again:
// the guard lets it through once.
func (d *DB) Move(ctx context.Context, m order.Move) (bool, error) {
	stands, err := d.moves.Do(ctx, m)
	switch {
	case err == nil:
		return stands, nil
	case errors.Is(err, mysqldb.ErrCommitUnknown), ctx.Err() != nil && !errors.Is(err, coalesce.ErrWithdrawn):
		return false, fmt.Errorf("change status: %w: %w", order.ErrUnanswered, err)
	}
	return false, unavailable("change status", err)
}

func (d *DB) move(ctx context.Context, moves []order.Move) ([]bool, error) {
	steps := map[step][]int64{}
	for _, m := range moves {
		s := stepOf(m)
		steps[s] = append(steps[s], m.ID)
	}
	complete := map[step]bool{}
	update := func(db *gorm.DB) error {
		at := time.Now()
		for s, ids := range steps {
			slices.Sort(ids) // one order of locking for all batches
			ids = slices.Compact(ids)
			changed, err := exec(ctx, db, moveOrders(s, ids, at))
			if err != nil {
				return fmt.Errorf("update status: %w", err)
			}
			complete[s] = changed == int64(len(ids))
		}
		return nil
	}
	var err error
	if len(steps) == 1 { // a statement is a transaction of its own: one round trip, not three
		err = again(ctx, func() error { return update(d.db.WithContext(ctx)) })
	} else {
		err = again(ctx, func() error { return mysqldb.Transact(ctx, d.db, update) })
	}
	if err != nil {
		return nil, err
	}
	return d.standing(ctx, moves, complete)
}

// standing tells of each move whether its order stands where it leads. Where an
// update hit fewer rows than it named, the rows tell.
func (d *DB) standing(ctx context.Context, moves []order.Move, complete map[step]bool) ([]bool, error) {
	var doubtful []int64
	for _, m := range moves {
		if !complete[stepOf(m)] {
			doubtful = append(doubtful, m.ID)
		}
	}
	statuses := map[int64]string{}
	if len(doubtful) > 0 {
		var rows []orderRow
		err := again(ctx, func() error {
			return d.db.WithContext(ctx).Select("id", "status").Where("id IN ?", doubtful).Find(&rows).Error
		})
		if err != nil {
			return nil, fmt.Errorf("%w: read status: %w", mysqldb.ErrCommitUnknown, err)
		}
		for _, row := range rows {
			statuses[row.ID] = row.Status
		}
	}
	stands := make([]bool, len(moves))
	for i, m := range moves {
		stands[i] = complete[stepOf(m)] || statuses[m.ID] == string(m.To)
	}
	return stands, nil
}
