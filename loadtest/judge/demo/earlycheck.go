package demo

import (
	"context"
	"database/sql"
	"time"
)

// earlyCheck checks the stock before the payment, and reads and writes the counter after it. Orders that overlap find
// the same pieces, and write the same counter: it shows fewer sales than there are orders.
func earlyCheck(ctx context.Context, db *sql.DB) func(string, int) answer {
	return func(key string, pieces int) answer {
		if a, found := recorded(ctx, db, key); found {
			return a
		}
		if level, err := available(ctx, db); err != nil || level < pieces {
			return refused(err)
		}
		time.Sleep(payment)
		return within(ctx, db, func(tx *sql.Tx) (answer, error) {
			level, err := available(ctx, tx)
			if err != nil {
				return answer{}, err
			}
			_, err = tx.ExecContext(ctx, "UPDATE inventory SET available = ? WHERE product = 1", max(0, level-pieces))
			if err != nil {
				return answer{}, err
			}
			id, err := insert(ctx, tx, key, pieces, "CONFIRMED")
			return confirmed(id), err
		})
	}
}

// available reads the counter.
func available(ctx context.Context, from database) (pieces int, err error) {
	err = from.QueryRowContext(ctx, "SELECT available FROM inventory WHERE product = 1").Scan(&pieces)
	return pieces, err
}

// refused is the answer if the stock is short, or could not be read.
func refused(err error) answer {
	if err != nil {
		return failed(err)
	}
	return soldOut()
}
