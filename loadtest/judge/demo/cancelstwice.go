package demo

import (
	"context"
	"database/sql"
)

// cancelEachTime gives the pieces back without a look at the state of the order. A second cancel gives them back again.
func cancelEachTime(ctx context.Context, db *sql.DB, id int64) answer {
	return within(ctx, db, func(tx *sql.Tx) (answer, error) {
		if _, err := tx.ExecContext(ctx, "UPDATE orders SET state = 'CANCELLED' WHERE id = ?", id); err != nil {
			return answer{}, err
		}
		return cancelledAnswer, giveBackOf(ctx, tx, id)
	})
}
