package orderdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"orderstock/order-service/order"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/retry"
)

// insertion is the answer to one insert.
type insertion struct {
	prior *order.Order // that has the key; nil if it was free
	err   error        // of this insert alone
}

// Insert implements order.Store. Concurrent calls share one transaction, and a key in use does not delay the rest of
// the batch. If another transaction holds an order's key, for example in a frozen replica, the order is refused after a
// lock wait, and the batch continues without it.
func (d *DB) Insert(ctx context.Context, o order.Order) (stored order.Order, inserted bool, err error) {
	done, err := d.inserts.Do(ctx, o)
	if err == nil {
		err = done.err
	}
	if err != nil {
		return order.Order{}, false, unwritten(ctx, "insert order", err)
	}
	if done.prior != nil {
		return *done.prior, false, nil
	}
	return o, true, nil
}

// insert writes the orders of a batch, except those whose key another transaction holds.
func (d *DB) insert(ctx context.Context, orders []order.Order) ([]insertion, error) {
	sorted := slices.Clone(orders) // replicas that insert the same keys concurrently lock them in one order
	slices.SortFunc(sorted, func(a, b order.Order) int { return strings.Compare(a.Key, b.Key) })
	for wait := 1; ; wait++ {
		held, err := mysqldb.HeldForLong(ctx, &d.inserting, d.db, "orders", "idempotency_key", keysOf(sorted))
		if err != nil {
			return nil, err
		}
		free := sorted
		if len(held) > 0 {
			free = slices.DeleteFunc(slices.Clone(sorted), func(o order.Order) bool { return held[o.Key] })
		}
		taken, err := d.insertFree(ctx, free)
		if d.inserting.Again(err, wait) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return d.answer(ctx, orders, held, taken)
	}
}

// insertFree inserts orders, which are sorted by key, in one transaction, and returns the ids of those whose key was in
// use. If it fails before its commit was sent, nothing was written, and it begins again. An unanswered commit, a
// refusal other than a deadlock and a wait for a row are final: see again.
func (d *DB) insertFree(ctx context.Context, orders []order.Order) (taken map[int64]bool, err error) {
	if len(orders) == 0 {
		return taken, nil
	}
	return retry.Do(ctx, pauses, func() (map[int64]bool, error) {
		taken, err := d.insertOnce(ctx, orders)
		if final(err) || errors.Is(err, mysqldb.ErrCommitUnknown) || errors.Is(err, errStoodStill) {
			err = retry.Stop(err)
		}
		return taken, err
	})
}

var errStoodStill = errors.New("the process stood still after it had made the order")

// insertOnce writes the orders whose keys are free, and returns the ids of the others.
func (d *DB) insertOnce(ctx context.Context, orders []order.Order) (taken map[int64]bool, err error) {
	err = mysqldb.TransactOnce(ctx, d.db, func(tx *gorm.DB) error {
		for _, o := range orders {
			if !o.InsertBefore.IsZero() && time.Now().After(o.InsertBefore) {
				return fmt.Errorf("insert order %d: %w", o.ID, errStoodStill)
			}
		}
		wrote, err := insertOrders(tx, orders)
		if err != nil {
			return fmt.Errorf("insert orders: %w", err)
		}
		if wrote != int64(len(orders)) {
			if taken, err = takenIn(tx, orders); err != nil {
				return err
			}
			if wrote != int64(len(orders)-len(taken)) {
				return fmt.Errorf("insert orders: wrote %d of %d, %d keys in use", wrote, len(orders), len(taken))
			}
		}
		if err := insertItems(tx, orders, taken); err != nil {
			return fmt.Errorf("insert items: %w", err)
		}
		return nil
	})
	return taken, err
}

// insertOrders inserts all orders, in a statement made by hand: see mysqldb.Statement. The server leaves out an order
// whose key is in use, without an error: only the count of affected rows shows it.
func insertOrders(tx *gorm.DB, orders []order.Order) (wrote int64, err error) {
	insert := mysqldb.NewInsert(tx, "INSERT IGNORE INTO orders ("+newOrder+") VALUES ")
	for _, o := range orders {
		insert.Row(o.ID, mysqldb.Raw("'PENDING'"), orNull(o.Key), []byte(o.BodyHash), o.Total, o.CreatedAt,
			mysqldb.Raw("UTC_TIMESTAMP(6)"), orNull(o.Trace))
	}
	return insert.Exec()
}

// orNull returns the value of a column for ASCII that has no "".
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return []byte(text)
}

func insertItems(tx *gorm.DB, orders []order.Order, skip map[int64]bool) error {
	insert := mysqldb.NewInsert(tx, "INSERT INTO "+itemTable.String()+" VALUES ")
	for _, o := range orders {
		if skip[o.ID] {
			continue
		}
		for i, item := range o.Items {
			insert.Row(o.ID, item.GoodsID, item.Num, o.Prices[i])
		}
	}
	_, err := insert.Exec()
	return err
}

// takenIn returns the ids of the orders whose key belongs to another order.
func takenIn(tx *gorm.DB, orders []order.Order) (map[int64]bool, error) {
	owner := make(map[string]int64, len(orders))
	columns := func(o *order.Order) []any { return []any{&o.ID, &o.Key} }
	for o, err := range mysqldb.RowsIn(tx, columns,
		"SELECT id, idempotency_key FROM orders WHERE idempotency_key IN ?", keysOf(orders)) {
		if err != nil {
			return nil, fmt.Errorf("look up keys: %w", err)
		}
		owner[o.Key] = o.ID
	}
	taken := map[int64]bool{}
	for _, o := range orders {
		if o.Key != "" && owner[o.Key] != o.ID {
			taken[o.ID] = true
		}
	}
	return taken, nil
}

// answer answers the inserts of a batch: a key that was in use with the order that has it.
func (d *DB) answer(
	ctx context.Context, orders []order.Order, held map[string]bool, taken map[int64]bool,
) ([]insertion, error) {
	var keys []string
	for _, o := range orders {
		if taken[o.ID] {
			keys = append(keys, o.Key)
		}
	}
	owners, err := d.ordersByKey(ctx, keys)
	if err != nil {
		// The batch is committed, though not all callers can be answered.
		return nil, fmt.Errorf("%w: %w", mysqldb.ErrCommitUnknown, err)
	}
	outs := make([]insertion, len(orders))
	for i, o := range orders {
		switch {
		case held[o.Key]:
			outs[i].err = mysqldb.ErrHeld
		case taken[o.ID]:
			prior := owners[o.Key]
			outs[i].prior = &prior
		}
	}
	return outs, nil
}

// keysOf returns the keys of the orders that have one.
func keysOf(orders []order.Order) (keys []string) {
	for _, o := range orders {
		if o.Key != "" {
			keys = append(keys, o.Key)
		}
	}
	return keys
}
