package demo

import (
	"context"
	"database/sql"
	"errors"

	"github.com/go-sql-driver/mysql"
)

// right decides in one transaction. The unique key admits one outcome, which a repeat gets again.
func right(ctx context.Context, db *sql.DB) func(string, int) answer {
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
			id, err := insert(ctx, tx, key, pieces, "CONFIRMED")
			return confirmed(id), ownKey(err)
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
