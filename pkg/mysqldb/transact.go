package mysqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"orderstock/pkg/retry"
)

// ErrCommitUnknown is wrapped in the error of a transaction whose commit, or whose only statement, was sent and not
// answered. Only another read can show whether it is committed.
var ErrCommitUnknown = errors.New("commit unanswered")

// ErrAgain is wrapped in the error of a transaction that found its reads outdated, and should run again.
var ErrAgain = errors.New("read again")

// afterDeadlock is the retry policy of a transaction that the server ended for a deadlock, or that ended with ErrAgain.
var afterDeadlock = retry.Policy{First: 2 * time.Millisecond, Max: 100 * time.Millisecond, Tries: 5}

// Transact is TransactOnce, but after a deadlock or ErrAgain it runs fn again, at most five times in all, so fn must
// reset its results each time. It does not run fn again after too long a wait for a row (IsLockWait).
func Transact(ctx context.Context, db *gorm.DB, fn func(tx *gorm.DB) error) error {
	return retry.Run(ctx, afterDeadlock, func() error {
		err := TransactOnce(ctx, db, fn)
		if err != nil && !IsDeadlock(err) && !errors.Is(err, ErrAgain) {
			return retry.Stop(err)
		}
		return err
	})
}

// Exec runs one statement with its own commit, which saves two round trips, and returns the number of rows changed.
// Unless the error wraps ErrCommitUnknown, nothing changed. An error of the commit itself counts as unknown, too: a
// member of a group that loses the others rolls back a transaction that they may have accepted.
func Exec(ctx context.Context, db *gorm.DB, statement string) (int64, error) {
	pool, err := db.DB()
	if err != nil {
		return 0, fmt.Errorf("execute statement: %w", err)
	}
	conn, err := pool.Conn(ctx) // first, so that a failure to connect is not mistaken for a lost answer
	if err != nil {
		return 0, fmt.Errorf("execute statement: %w", err)
	}
	defer func() { _ = conn.Close() }() // returns it to the pool
	result, err := conn.ExecContext(ctx, statement)
	switch {
	case err == nil:
		return result.RowsAffected()
	case undone(err), errors.Is(err, driver.ErrBadConn): // not sent, or refused by a server that is read-only
		return 0, fmt.Errorf("execute statement: %w", err)
	}
	return 0, fmt.Errorf("%w: %w", ErrCommitUnknown, err)
}

// TransactOnce runs fn in a transaction, and commits it if fn returns nil. The error is fn's own or the database's.
// Unless it wraps ErrCommitUnknown, nothing changed.
func TransactOnce(ctx context.Context, db *gorm.DB, fn func(tx *gorm.DB) error) error {
	tx := db.WithContext(ctx).Begin()
	if tx.Error != nil {
		return fmt.Errorf("begin transaction: %w", tx.Error)
	}
	committing := false
	defer func() {
		if !committing {
			_ = tx.Rollback() // if it fails, the connection is dropped, which rolls back as well
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	committing = true
	if err := tx.Commit().Error; err != nil {
		return fmt.Errorf("%w: %w", ErrCommitUnknown, err)
	}
	return nil
}
