package mysqldb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"gorm.io/gorm"

	"orderstock/pkg/faultpoint"
)

// ErrCommitUnknown is wrapped in the error of a transaction whose commit was
// sent and not answered: it may stand or not. Read again to know.
var ErrCommitUnknown = errors.New("commit unanswered")

// maxTries bounds the runs of a transaction that the server ended for a
// deadlock or a lock wait.
const maxTries = 5

// Transact runs fn in a transaction and commits it when fn returns nil. When
// the server ends the transaction for a deadlock or too long a wait for a row,
// the whole of fn runs again, a few times at most; so fn must keep what it
// learns to itself until it returns. The error is fn's own or the database's;
// unless it wraps ErrCommitUnknown, nothing changed.
func Transact(ctx context.Context, db *gorm.DB, fn func(tx *gorm.DB) error) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 2*time.Millisecond, 100*time.Millisecond
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := transactOnce(ctx, db, fn)
		if err != nil && !IsTransient(err) {
			return struct{}{}, backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pause), backoff.WithMaxTries(maxTries))
	return err
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
	if err := faultpoint.At(ctx, faultpoint.Commit, faultpoint.Before); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	committing = true
	if err := tx.Commit().Error; err != nil {
		return fmt.Errorf("%w: %w", ErrCommitUnknown, err)
	}
	if err := faultpoint.At(ctx, faultpoint.Commit, faultpoint.After); err != nil {
		return fmt.Errorf("%w: %w", ErrCommitUnknown, err)
	}
	return nil
}
