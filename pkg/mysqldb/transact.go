package mysqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"
)

// ErrCommitUnknown is wrapped in the error of a transaction whose commit, or
// whose only statement, was sent and not answered: it may stand or not. Read
// again to know.
var ErrCommitUnknown = errors.New("commit unanswered")

// maxTries bounds the runs of a transaction that the server ended for a deadlock.
const maxTries = 5

// Transact runs fn in a transaction and commits it when fn returns nil. When
// the server ends the transaction for a deadlock, the whole of fn runs again, a
// few times at most; so fn must keep what it learns to itself until it returns.
// After too long a wait for a row (IsLockWait) it does not: the caller knows
// better what to do. The error is fn's own or the database's; unless it wraps ErrCommitUnknown, nothing changed.
func Transact(ctx context.Context, db *gorm.DB, fn func(tx *gorm.DB) error) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 2*time.Millisecond, 100*time.Millisecond
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := transactOnce(ctx, db, fn)
		if err != nil && !IsDeadlock(err) {
			return struct{}{}, backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pause), backoff.WithMaxTries(maxTries))
	return err
}

// Exec runs a statement that is a transaction of its own, which saves two round
// trips, and returns how many rows it changed. Unless the error wraps
// ErrCommitUnknown, nothing changed.
func Exec(ctx context.Context, db *gorm.DB, statement string) (int64, error) {
	pool, err := db.DB()
	if err != nil {
		return 0, fmt.Errorf("execute statement: %w", err)
	}
	conn, err := pool.Conn(ctx) // by itself, so that a failure to connect is told from one to be answered
	if err != nil {
		return 0, fmt.Errorf("execute statement: %w", err)
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	result, err := conn.ExecContext(ctx, statement)
	var refused *mysql.MySQLError
	switch {
	case err == nil:
		return result.RowsAffected()
	case errors.As(err, &refused), errors.Is(err, driver.ErrBadConn): // answered, or not sent
		return 0, fmt.Errorf("execute statement: %w", err)
	}
	return 0, fmt.Errorf("%w: %w", ErrCommitUnknown, err)
}

func transactOnce(ctx context.Context, db *gorm.DB, fn func(tx *gorm.DB) error) (err error) {
	tx := db.WithContext(ctx).Begin()
	if tx.Error != nil {
		return fmt.Errorf("begin transaction: %w", tx.Error)
	}
	committing := false
	defer func() {
		if !committing {
			// Should the rollback fail, the connection is dropped, which rolls back as well.
			_ = tx.Rollback()
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
