package demo

import (
	"context"
	"database/sql"
	"errors"
	"net/http"

	"github.com/go-sql-driver/mysql"
)

// right decides in one transaction. The unique key admits one outcome, which a repeat gets again.
func right(ctx context.Context, db *sql.DB) func(string, int) answer {
	return inOneTransaction(ctx, db, "CONFIRMED")
}

// inOneTransaction places orders in a state.
func inOneTransaction(ctx context.Context, db *sql.DB, state string) func(string, int) answer {
	return func(key string, pieces int) answer {
		if a, found := recorded(ctx, db, key); found {
			return a
		}
		a := within(ctx, db, func(tx *sql.Tx) (answer, error) {
			taken, err := take(ctx, tx, pieces)
			if err != nil {
				return answer{}, err
			}
			if !taken {
				_, err := insert(ctx, tx, key, pieces, "FAILED")
				return soldOut(), ownKey(err)
			}
			id, err := insert(ctx, tx, key, pieces, state)
			return inState(id, state), ownKey(err)
		})
		if a.body["error"] == errRepeat.Error() {
			a, _ = recorded(ctx, db, key)
		}
		return a
	}
}

var errRepeat = errors.New("another call has the key")

// ownKey returns errRepeat if err says that the key is there already.
func ownKey(err error) error {
	const duplicate = 1062
	if theirs, ok := errors.AsType[*mysql.MySQLError](err); ok && theirs.Number == duplicate {
		return errRepeat
	}
	return err
}

// cancelOnce gives the pieces back only if it has changed the state.
func cancelOnce(ctx context.Context, db *sql.DB, id int64) answer {
	return within(ctx, db, func(tx *sql.Tx) (answer, error) {
		own, err := changed(ctx, tx, "UPDATE orders SET state = 'CANCELLED' WHERE id = ? AND state = 'CONFIRMED'", id)
		if err != nil || !own {
			return answer{http.StatusConflict, map[string]any{"error": "it cannot be cancelled"}}, err
		}
		return cancelledAnswer, giveBackOf(ctx, tx, id)
	})
}

var cancelledAnswer = answer{http.StatusOK, map[string]any{"state": "CANCELLED"}}

// giveBackOf gives the pieces of an order back.
func giveBackOf(ctx context.Context, tx *sql.Tx, id int64) error {
	var pieces int
	if err := tx.QueryRowContext(ctx, "SELECT pieces FROM items WHERE order_id = ?", id).Scan(&pieces); err != nil {
		return err
	}
	return giveBack(ctx, tx, pieces)
}
