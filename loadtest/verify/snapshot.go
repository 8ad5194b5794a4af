package verify

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"sync"

	"orderstock/pkg/mysqldb"
)

// snapshot is one state of a database: a read-only transaction on its own connection.
type snapshot struct {
	*sql.Conn
	of   *reader
	busy sync.Mutex // held while a page is read: a connection has one query at a time
}

// snapshot begins a snapshot. The caller must end it.
func (r *reader) snapshot(ctx context.Context) (*snapshot, error) {
	conn, err := r.Conn(ctx)
	if err != nil {
		return nil, r.explain(err)
	}
	for _, statement := range []string{
		"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			_ = conn.Close() // the error says enough
			return nil, r.explain(err)
		}
	}
	return &snapshot{Conn: conn, of: r}, nil
}

// end ends the snapshot, after the page that is being read. It was only read, so no error matters.
func (s *snapshot) end(ctx context.Context) {
	s.busy.Lock()
	defer s.busy.Unlock()
	_, _ = s.ExecContext(ctx, "ROLLBACK")
	_ = s.Close()
}

// byFlag returns an expression that sorts orders by flag (the id in decimal), like the tables of the stock side, and
// its value for an id. If all ids have the same number of digits, as snowflakes do, that is the column itself.
func (s *snapshot) byFlag(ctx context.Context, column, table string) (by string, of func(id int64) any, err error) {
	var least, most sql.NullInt64
	query := "SELECT MIN(" + column + "), MAX(" + column + ") FROM " + table
	if err := s.QueryRowContext(ctx, query).Scan(&least, &most); err != nil {
		return "", nil, s.of.explain(err)
	}
	if least.Int64 > 0 && len(decimal(least.Int64)) == len(decimal(most.Int64)) {
		return column, func(id int64) any { return id }, nil
	}
	return "CAST(" + column + " AS CHAR CHARACTER SET latin1) COLLATE latin1_bin",
		func(id int64) any { return string(decimal(id)) }, nil
}

// pageRows is how many rows one query reads. A connection has one query at a time, so the tables of a snapshot are
// read by turns.
const pageRows = 2000

// page describes how a table is read.
type page[T any] struct {
	// query reads the table, by is the expression to sort by, and then is the rest of the order, with its comma.
	query, by, then string
	columns         func(*T) []any
	// at returns the row's value of by.
	at func(*T) any
}

// pages yields a table in order, page by page. Each begins with the value that ended the one before, past the rows of
// that value that were read: the rows of one value may be more than a page. While one page is used, the next one is
// read, in place of the one before: a page is valid until the next.
func pages[T any](ctx context.Context, from *snapshot, p page[T]) iter.Seq2[[]T, error] {
	type read struct {
		rows []T
		err  error
	}
	return func(yield func([]T, error) bool) {
		where, args, past := "", []any(nil), 0
		next, used := make(chan read, 1), []T(nil)
		begin := func() {
			query := fmt.Sprintf("%s%s ORDER BY %s%s LIMIT %d, %d", p.query, where, p.by, p.then, past, pageRows)
			go func(rows []T, args []any) {
				from.busy.Lock()
				defer from.busy.Unlock()
				var failed error
				for row, err := range mysqldb.Rows(ctx, from, p.columns, query, args...) {
					if failed = err; err == nil {
						rows = append(rows, row)
					}
				}
				next <- read{rows, from.of.explain(failed)}
			}(used[:0], args)
		}
		for begin(); ; {
			got := <-next
			if got.err != nil {
				yield(nil, got.err)
				return
			}
			if len(got.rows) == pageRows {
				last := p.at(&got.rows[pageRows-1])
				if where == "" || args[0] != last {
					past = 0
				}
				for i := pageRows - 1; i >= 0 && p.at(&got.rows[i]) == last; i-- {
					past++
				}
				where, args = " WHERE "+p.by+" >= ?", []any{last}
				begin()
			}
			if !yield(got.rows, nil) || len(got.rows) < pageRows {
				return
			}
			used = got.rows
		}
	}
}
