package demo

import (
	"context"
	"database/sql"
)

// givesBack undoes a deduction when it refuses an order, also one that it did not make. So after each refusal there is
// a piece more than there was.
func givesBack(ctx context.Context, db *sql.DB) func(string, int) answer {
	return func(key string, pieces int) answer {
		if a, found := recorded(ctx, db, key); found {
			return a
		}
		return within(ctx, db, func(tx *sql.Tx) (answer, error) {
			taken, err := take(ctx, tx, pieces)
			if err != nil {
				return answer{}, err
			}
			if !taken {
				return soldOut(), giveBack(ctx, tx, pieces)
			}
			id, err := insert(ctx, tx, key, pieces, "CONFIRMED")
			return confirmed(id), err
		})
	}
}
