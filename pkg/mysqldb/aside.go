package mysqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
)

// ErrHeld is the answer for an item of a batch that was set aside because another transaction holds a row that it
// needs. Nothing was done for it.
var ErrHeld = errors.New("another transaction holds the row")

// Caution lets a batch go on without the items whose rows others hold. It remembers that a batch has waited too long
// for a row, so that the next batches look for held rows before they wait:
//
//	for wait := 1; ; wait++ {
//		held, err := mysqldb.HeldForLong(ctx, &caution, …)
//		… write the items that are not held
//		if !caution.Again(err, wait) {
//			return …
//		}
//	}
//
// It is safe for concurrent use. The zero value is ready.
type Caution struct{ until atomic.Int64 }

// cautionTime is how long caution lasts after the last held row was found. It is longer than the server keeps the rows
// of a silent client.
const cautionTime = 10 * time.Second

func (c *Caution) raise() { c.until.Store(time.Now().Add(cautionTime).UnixNano()) }

// On reports whether a batch should look for held rows before it writes.
func (c *Caution) On() bool { return time.Now().UnixNano() < c.until.Load() }

// maxWaits bounds the lock waits of one batch: with all items, and with those that were free.
const maxWaits = 2

// Again reports whether to write the batch again after err, without the items whose rows are held: its transaction
// waited too long for a row, and wait, which counts its writes from 1, is not the last.
func (c *Caution) Again(err error, wait int) bool {
	if !IsLockWait(err) {
		return false
	}
	c.raise()
	return wait < maxWaits
}

// looks is the number of times that a batch checks whether a row is held, with lookPause in between, before it sets an
// item aside: a transaction that is merely busy ends in that time.
const (
	looks     = 3
	lookPause = 20 * time.Millisecond
)

// HeldForLong returns the keys that Held finds at every look, while c is on, and none otherwise, without asking the
// server.
func HeldForLong[K int64 | string](
	ctx context.Context, c *Caution, db *gorm.DB, table, column string, keys []K,
) (held map[K]bool, err error) {
	if !c.On() {
		return held, nil
	}
	held, err = Held(ctx, db, table, column, keys)
	for look := 1; err == nil && len(held) > 0 && look < looks; look++ {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lookPause):
		}
		held, err = Held(ctx, db, table, column, slices.Collect(maps.Keys(held)))
	}
	if err != nil {
		return nil, err
	}
	if len(held) > 0 {
		c.raise()
	}
	return held, nil
}

// Held returns the keys whose rows another transaction has inserted, changed or locked, and not committed yet. It waits
// for no row. column must have an index. table and column must be trusted text.
//
// It compares a read of uncommitted rows, which sees all rows, with a locking read that skips locked rows (MySQL 8.0,
// MariaDB 10.6), which sees the free ones. Neither sees a row that another transaction deletes.
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
	there := "SELECT " + column + " FROM " + table + " WHERE " + column + " IN ?"
	for key, err := range RowsIn(tx, One[K], there, keys) {
		if err != nil {
			return nil, fmt.Errorf("look for rows that are held: %w", err)
		}
		held[key] = true
	}
	for key, err := range RowsIn(tx, One[K], there+" FOR UPDATE SKIP LOCKED", keys) {
		if err != nil {
			return nil, fmt.Errorf("look for rows that are held: %w", err)
		}
		delete(held, key)
	}
	return held, nil
}
