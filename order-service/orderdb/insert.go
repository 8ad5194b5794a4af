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

// insertion is the answer to one insert: the order as stored, or the order that has the key if the key was in use.
type insertion struct {
	stored   order.Order
	inserted bool
	err      error // of this insert alone
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
	return done.stored, done.inserted, nil
}

func (d *DB) insert(ctx context.Context, orders []order.Order) ([]insertion, error) {
	// Replicas that insert the same keys concurrently lock them in one order.
	places := make([]int, len(orders))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int { return strings.Compare(orders[a].Key, orders[b].Key) })
	sorted := make([]order.Order, len(orders))
	for i, place := range places {
		sorted[i] = orders[place]
	}
	done, err := mysqldb.SetAside(ctx, &d.inserting, sorted, d.keysHeld, d.insertSorted)
	if err != nil {
		return nil, err
	}
	outs := make([]insertion, len(orders))
	for i, place := range places {
		outs[place] = done[i]
	}
	return outs, nil
}

// keysHeld refuses each order whose key another transaction holds.
func (d *DB) keysHeld(ctx context.Context, orders []order.Order) ([]*insertion, error) {
	var keys []string
	for _, o := range orders {
		if o.Key != "" {
			keys = append(keys, o.Key)
		}
	}
	found, err := mysqldb.Held(ctx, d.db, "orders", "idempotency_key", keys)
	held := make([]*insertion, len(orders))
	for i, o := range orders {
		if found[o.Key] {
			held[i] = &insertion{err: mysqldb.ErrHeld}
		}
	}
	return held, err
}

func (d *DB) insertSorted(ctx context.Context, orders []order.Order) ([]insertion, error) {
	var taken map[int]bool // by index in orders: the key is in use
	write := func(tx *gorm.DB) error {
		for _, o := range orders {
			if !o.InsertBefore.IsZero() && time.Now().After(o.InsertBefore) {
				return retry.Stop(fmt.Errorf("insert orders: the process stood still after it had made order %d", o.ID))
			}
		}
		wrote, err := insertOrders(tx, orders)
		if err != nil {
			return fmt.Errorf("insert orders: %w", err)
		}
		taken = nil
		if wrote != int64(len(orders)) {
			if taken, err = d.taken(tx, orders); err != nil {
				return err
			}
			if wrote != int64(len(orders)-len(taken)) {
				return fmt.Errorf("insert orders: wrote %d of %d, %d keys in use", wrote, len(orders), len(taken))
			}
		}
		if len(taken) == len(orders) {
			return nil
		}
		if err := insertItems(tx, orders, taken); err != nil {
			return fmt.Errorf("insert items: %w", err)
		}
		return nil
	}
	// If the connection broke before the commit was sent, nothing was written: the batch is sent again.
	err := again(ctx, func() error { return final(mysqldb.Transact(ctx, d.db, write)) })
	if err != nil {
		return nil, err
	}
	outs := make([]insertion, len(orders))
	for i, o := range orders {
		outs[i] = insertion{stored: o, inserted: true}
	}
	return outs, d.fillTaken(ctx, orders, taken, outs)
}

// final makes an unanswered commit an error that is not retried.
func final(err error) error {
	if errors.Is(err, mysqldb.ErrCommitUnknown) {
		return retry.Stop(err)
	}
	return transacted(err)
}

// taken returns the indexes of the orders whose key belongs to another order.
func (d *DB) taken(tx *gorm.DB, orders []order.Order) (map[int]bool, error) {
	var keys []string
	for _, o := range orders {
		if o.Key != "" {
			keys = append(keys, o.Key)
		}
	}
	owner := make(map[string]int64, len(keys))
	for keys := range mysqldb.Lists(keys) {
		var rows []orderRow
		if err := tx.Select("id", "idempotency_key").Where("idempotency_key IN ?", keys).Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("look up keys: %w", err)
		}
		for _, row := range rows {
			owner[*row.IdempotencyKey] = row.ID
		}
	}
	taken := map[int]bool{}
	for i, o := range orders {
		if o.Key != "" && owner[o.Key] != o.ID {
			taken[i] = true
		}
	}
	return taken, nil
}

// fillTaken answers the inserts whose key was in use with the order that has it.
func (d *DB) fillTaken(ctx context.Context, orders []order.Order, taken map[int]bool, outs []insertion) error {
	if len(taken) == 0 {
		return nil
	}
	keys := make([]string, 0, len(taken))
	for i := range taken {
		keys = append(keys, orders[i].Key)
	}
	found, err := d.findByKey(ctx, keys)
	if err != nil {
		// The batch is committed, though not all callers can be answered.
		return fmt.Errorf("%w: %w", mysqldb.ErrCommitUnknown, err)
	}
	byKey := make(map[string]order.Order, len(found))
	for i, o := range found {
		if o != nil {
			byKey[keys[i]] = *o
		}
	}
	for i := range taken {
		outs[i] = insertion{stored: byKey[orders[i].Key]}
	}
	return nil
}
