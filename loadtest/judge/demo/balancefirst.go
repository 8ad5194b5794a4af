package demo

import (
	"context"
	"database/sql"
	"time"
)

// balanceFirst looks at the balance, then writes the claim and takes from the balance in one transaction, without
// looking again. Claims that overlap find the same balance, and overdraw it.
func balanceFirst(ctx context.Context, db *sql.DB) func(string, int) answer {
	return func(key string, pieces int) answer {
		if a, found := recorded(ctx, db, key); found {
			return a
		}
		if level, err := available(ctx, db); err != nil || level < pieces {
			return refused(err)
		}
		time.Sleep(payment)
		return within(ctx, db, func(tx *sql.Tx) (answer, error) {
			id, err := insert(ctx, tx, key, pieces, "CONFIRMED")
			if err != nil {
				return answer{}, err
			}
			return confirmed(id), giveBack(ctx, tx, -pieces)
		})
	}
}
