package demo

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

var errShort = errors.New("too few pieces")

// twoStatements commits the order, and writes its items after that. A kill between leaves an order of nothing.
func twoStatements(ctx context.Context, db *sql.DB) func(string, int) answer {
	return func(key string, pieces int) answer {
		if a, found := recorded(ctx, db, key); found {
			return a
		}
		a := within(ctx, db, func(tx *sql.Tx) (answer, error) {
			result, err := tx.ExecContext(ctx, "INSERT INTO orders (order_key, state) VALUES (?, 'CONFIRMED')", key)
			if err != nil {
				return answer{}, ownKey(err)
			}
			taken, err := take(ctx, tx, pieces)
			if err == nil && !taken {
				err = errShort // nothing stays of it
			}
			if err != nil {
				return answer{}, err
			}
			id, err := result.LastInsertId()
			if err == nil {
				_, err = tx.ExecContext(ctx, "INSERT INTO deductions VALUES (?, ?)", id, pieces)
			}
			return confirmed(id), err
		})
		switch a.body["error"] {
		case errRepeat.Error():
			a, _ = recorded(ctx, db, key)
			return a
		case errShort.Error():
			return soldOut()
		}
		id, placed := a.body["id"]
		if !placed {
			return a
		}
		time.Sleep(payment)
		if _, err := db.ExecContext(ctx, "INSERT INTO items VALUES (?, ?)", id, pieces); err != nil {
			return failed(err)
		}
		return a
	}
}
