package demo

import (
	"context"
	"database/sql"
	"errors"
)

// deleteCount sells tickets that are rows. It chooses one, deletes it, and does not look whether a row was deleted: two
// buyers who chose the same one both have it.
func deleteCount(ctx context.Context, db *sql.DB) func(string, int) answer {
	return func(key string, pieces int) answer {
		if a, found := recorded(ctx, db, key); found {
			return a
		}
		var ticket int
		err := db.QueryRowContext(ctx, "SELECT id FROM tickets ORDER BY id LIMIT 1").Scan(&ticket)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return soldOut()
		case err != nil:
			return failed(err)
		}
		return within(ctx, db, func(tx *sql.Tx) (answer, error) {
			if _, err := tx.ExecContext(ctx, "DELETE FROM tickets WHERE id = ?", ticket); err != nil {
				return answer{}, err
			}
			id, err := insert(ctx, tx, key, pieces, "CONFIRMED")
			return confirmed(id), err
		})
	}
}
