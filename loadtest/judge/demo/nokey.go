package demo

import (
	"context"
	"database/sql"
)

// noKey ignores the key. Each repeat is another order with another deduction.
func noKey(ctx context.Context, db *sql.DB) func(string, int) answer {
	return func(_ string, pieces int) answer {
		return within(ctx, db, func(tx *sql.Tx) (answer, error) {
			taken, err := take(ctx, tx, pieces)
			if err != nil || !taken {
				return soldOut(), err
			}
			id, err := insert(ctx, tx, "", pieces, "CONFIRMED")
			return confirmed(id), err
		})
	}
}
