package mysqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
)

// ErrHeld is the answer for an item of a batch that was set aside because another transaction holds a row that it
// needs. Nothing was done for it.
var ErrHeld = errors.New("another transaction holds the row")

// Caution remembers that a batch has waited too long for a row, so that the next batches check for held rows before
// they wait. It is safe for concurrent use. The zero value is ready.
type Caution struct{ until atomic.Int64 }

// cautionTime is how long caution lasts after the last held row was found. It is longer than the server keeps the rows
// of a silent client.
const cautionTime = 10 * time.Second

func (c *Caution) raise() { c.until.Store(time.Now().Add(cautionTime).UnixNano()) }

func (c *Caution) on() bool { return time.Now().UnixNano() < c.until.Load() }

// maxWaits bounds the lock waits of one batch: with all items, and with those that were free.
const maxWaits = 2

// SetAside calls write with a batch of items, and returns the results in the order of the items. If the transaction
// waits too long for a row, SetAside calls write again without the items whose rows are held. While c remembers such a
// wait, it calls held first, so that no further batch waits.
//
// held returns the result of each item that needs a row of another transaction, found for example by the function Held,
// and nil for each other item.
func SetAside[T, R any](ctx context.Context, c *Caution, items []T,
	held func(ctx context.Context, items []T) ([]*R, error),
	write func(ctx context.Context, items []T) ([]R, error),
) ([]R, error) {
	for wait := 1; ; wait++ {
		results, err := writeFree(ctx, c, items, held, write)
		if !IsLockWait(err) {
			return results, err
		}
		c.raise()
		if wait == maxWaits {
			return nil, err
		}
	}
}

func writeFree[T, R any](ctx context.Context, c *Caution, items []T,
	held func(ctx context.Context, items []T) ([]*R, error),
	write func(ctx context.Context, items []T) ([]R, error),
) ([]R, error) {
	if !c.on() {
		return write(ctx, items)
	}
	aside, err := heldForLong(ctx, items, held)
	if err != nil {
		return nil, err
	}
	var free []T
	for i, item := range items {
		if aside[i] == nil {
			free = append(free, item)
		}
	}
	if len(free) < len(items) {
		c.raise()
	}
	var written []R
	if len(free) > 0 {
		if written, err = write(ctx, free); err != nil {
			return nil, err
		}
	}
	results := make([]R, len(items))
	for i := range items {
		if aside[i] != nil {
			results[i] = *aside[i]
			continue
		}
		results[i], written = written[0], written[1:]
	}
	return results, nil
}

// looks is the number of times that a batch checks whether a row is held, with lookPause in between, before it sets an
// item aside: a transaction that is merely busy ends in that time.
const (
	looks     = 3
	lookPause = 20 * time.Millisecond
)

// heldForLong returns the result of each item that held refused at every look.
func heldForLong[T, R any](
	ctx context.Context, items []T, held func(ctx context.Context, items []T) ([]*R, error),
) ([]*R, error) {
	refused := func(r *R) bool { return r != nil }
	aside, err := held(ctx, items)
	for look := 1; err == nil && look < looks && slices.ContainsFunc(aside, refused); look++ {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lookPause):
		}
		var again []*R
		if again, err = held(ctx, items); err == nil {
			for i := range aside {
				if again[i] == nil {
					aside[i] = nil
				}
			}
		}
	}
	return aside, err
}

// Held returns the keys whose rows another transaction has inserted, changed, deleted or locked, and not committed yet.
// It waits for no row. column must have an index. table and column must be trusted text.
//
// It compares a read of uncommitted rows, which sees all rows, with a locking read that skips locked rows (MySQL 8.0,
// MariaDB 10.6), which sees the free ones. A row that neither sees may be deleted: a locking read with NOWAIT finds it.
func Held[K int64 | string](ctx context.Context, db *gorm.DB, table, column string, keys []K) (map[K]bool, error) {
	held := map[K]bool{}
	if len(keys) == 0 {
		return held, nil
	}
	tx := db.WithContext(ctx).Begin(&sql.TxOptions{Isolation: sql.LevelReadUncommitted})
	if tx.Error != nil {
		return nil, fmt.Errorf("begin transaction: %w", tx.Error)
	}
	defer func() { _ = tx.Rollback() }() // it has changed nothing
	query := "SELECT " + column + " FROM " + table + " WHERE " + column + " IN ?"
	for keys := range Lists(keys) {
		var there, free []K
		if err := tx.Raw(query, keys).Scan(&there).Error; err != nil {
			return nil, fmt.Errorf("look for rows that are held: %w", err)
		}
		if err := tx.Raw(query+" FOR UPDATE SKIP LOCKED", keys).Scan(&free).Error; err != nil {
			return nil, fmt.Errorf("look for rows that are held: %w", err)
		}
		for _, key := range there {
			held[key] = true
		}
		for _, key := range free {
			delete(held, key)
		}
		unseen := slices.DeleteFunc(slices.Clone(keys), func(key K) bool { return slices.Contains(there, key) })
		if err := markDeleted(tx, query+" FOR UPDATE NOWAIT", unseen, held); err != nil {
			return nil, err
		}
	}
	return held, nil
}

// markDeleted adds to held the keys of held rows, found by the query with NOWAIT. It asks for all keys, and for each
// half if one of them is held.
func markDeleted[K int64 | string](tx *gorm.DB, query string, keys []K, held map[K]bool) error {
	if len(keys) == 0 {
		return nil
	}
	var free []K
	err := tx.Raw(query, keys).Scan(&free).Error
	switch n := number(err); {
	case err == nil:
		return nil
	case n != numNoWait && n != numLockWait:
		return fmt.Errorf("look for rows that are deleted: %w", err)
	case len(keys) == 1:
		held[keys[0]] = true
		return nil
	}
	half := len(keys) / 2
	if err := markDeleted(tx, query, keys[:half], held); err != nil {
		return err
	}
	return markDeleted(tx, query, keys[half:], held)
}
