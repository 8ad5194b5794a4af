package demo

import (
	"context"
	"database/sql"
	"net/http"
)

// paysLater places orders that hold their pieces and wait for the payment.
func paysLater(ctx context.Context, db *sql.DB) func(string, int) answer {
	return inOneTransaction(ctx, db, "PLACED")
}

// payOnce confirms an order that waits for its payment. A second payment finds none.
func payOnce(ctx context.Context, db *sql.DB, id int64) answer {
	own, err := changed(ctx, db, "UPDATE orders SET state = 'CONFIRMED' WHERE id = ? AND state = 'PLACED'", id)
	switch {
	case err != nil:
		return failed(err)
	case !own:
		return answer{http.StatusConflict, map[string]any{"error": "it waits for no payment"}}
	}
	return answer{http.StatusOK, map[string]any{"id": id, "state": "CONFIRMED"}}
}
