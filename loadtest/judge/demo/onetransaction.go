package demo

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"
)

// oneTransaction keeps the transaction of the request in a field that all requests share, as a repository that is made
// once does. If a second request begins before the first has ended, the first goes on in the second's transaction. Its
// own is never committed: the order that it acknowledged vanishes, and the connection stays taken, until none is left.
func oneTransaction(ctx context.Context, db *sql.DB) func(string, int) answer {
	var current atomic.Pointer[sql.Tx]
	return func(key string, pieces int) answer {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return failed(err)
		}
		current.Store(tx)
		if a, found := recorded(ctx, db, key); found {
			_ = tx.Rollback() // nothing was written
			return a
		}
		id, err := insert(ctx, current.Load(), key, pieces, "CONFIRMED")
		if err != nil {
			return failed(err)
		}
		time.Sleep(payment)
		if taken, err := take(ctx, current.Load(), pieces); err != nil || !taken {
			_ = current.Load().Rollback() // the mistake shows here, and below, as an error that nobody reads
			return refused(err)
		}
		_ = current.Load().Commit()
		return confirmed(id)
	}
}

// payment is how long a shop waits for the payment.
const payment = 20 * time.Millisecond
