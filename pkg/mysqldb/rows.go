package mysqldb

import (
	"context"
	"database/sql"
	"iter"
)

// Querier is a *sql.DB, a *sql.Conn or a *sql.Tx.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Rows runs a query when it is iterated over, and yields its rows. columns returns where the columns of a row go, as
// for sql.Rows.Scan. An error is the last that it yields. The connection is busy until the iteration ends.
func Rows[T any](
	ctx context.Context, db Querier, columns func(*T) []any, query string, args ...any,
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var row T
		rows, err := db.QueryContext(ctx, query, args...)
		if err != nil {
			yield(row, err)
			return
		}
		defer func() { _ = rows.Close() }() // read-only
		for to := columns(&row); rows.Next(); {
			if err := rows.Scan(to...); err != nil {
				yield(row, err)
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(row, err)
		}
	}
}

// All returns the rows that Rows yields.
func All[T any](ctx context.Context, db Querier, columns func(*T) []any, query string, args ...any) ([]T, error) {
	var all []T
	for row, err := range Rows(ctx, db, columns, query, args...) {
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, nil
}

// One is the columns of a query with one column.
func One[T any](value *T) []any { return []any{value} }
