package demo

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// oneTransaction keeps the transaction of the request in a field that all requests share, as a repository that is made
// once does; beginning one ends the one that was left open. If a second request begins before the first has ended, the
// first goes on in the second's transaction, and the order that it acknowledges is rolled back.
func oneTransaction(ctx context.Context, db *sql.DB) func(string, int) answer {
	var mu sync.Mutex
	var current *sql.Tx
	begin := func(key string, pieces int) (id int64, err error) {
		mu.Lock()
		defer mu.Unlock()
		if current != nil {
			_ = current.Rollback() // without effect after a commit
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return 0, err
		}
		current = tx
		return insert(ctx, current, key, pieces, "CONFIRMED")
	}
	end := func(pieces int) (taken bool, err error) {
		mu.Lock()
		defer mu.Unlock()
		if taken, err = take(ctx, current, pieces); err != nil || !taken {
			_ = current.Rollback() // the mistake shows here, and below, as an error that nobody reads
			return false, err
		}
		_ = current.Commit()
		return true, nil
	}
	return func(key string, pieces int) answer {
		if a, found := recorded(ctx, db, key); found {
			return a
		}
		id, err := begin(key, pieces)
		if err != nil {
			return failed(err)
		}
		time.Sleep(payment)
		if taken, err := end(pieces); err != nil || !taken {
			return refused(err)
		}
		return confirmed(id)
	}
}

// payment is how long a shop waits for the payment.
const payment = 50 * time.Millisecond
