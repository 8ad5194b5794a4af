package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"orderstock/pkg/mysqldb"
)

// reader streams the rows of one database, which may be larger than memory.
type reader struct {
	db *sql.DB
	// group is nil unless the DSN names the members of a group. The primary is read.
	group *mysqldb.Group
}

func openReader(dsn string) (*reader, error) {
	cfg, err := mysqldb.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	// A cursor waits while the others catch up; the server must not mistake it for a dead client.
	connector, err := mysqldb.Connector(cfg, mysqldb.Options{IdleTimeout: time.Hour})
	if err != nil {
		return nil, err
	}
	group, _ := connector.(*mysqldb.Group)
	return &reader{sql.OpenDB(connector), group}, nil
}

func (r *reader) close() { _ = r.db.Close() } // read-only

func (r *reader) count(ctx context.Context, query string) (n int64, err error) {
	err = r.db.QueryRowContext(ctx, query).Scan(&n)
	return n, err
}

// snapshot begins a read-only transaction that sees one state of the database.
func (r *reader) snapshot(ctx context.Context) (*sql.Tx, error) {
	return r.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
}

// cursor is the source of a query's rows.
type cursor[T any] struct {
	row  T
	ok   bool
	rows *sql.Rows
	dest []any
	load func(*T) error
}

// scan starts a cursor at the first row. It scans the columns of each row into dest, and load builds the row.
func scan[T any](ctx context.Context, tx *sql.Tx, query string, dest []any, load func(*T) error) (*cursor[T], error) {
	rows, err := tx.QueryContext(ctx, query) //nolint:rowserrcheck // next checks it after the last row
	if err != nil {
		return nil, err
	}
	c := &cursor[T]{rows: rows, dest: dest, load: load}
	return c, c.next()
}

func (c *cursor[T]) at() *T {
	if !c.ok {
		return nil
	}
	return &c.row
}

func (c *cursor[T]) next() error {
	if c.ok = c.rows.Next(); !c.ok {
		return errors.Join(c.rows.Err(), c.rows.Close())
	}
	if err := c.rows.Scan(c.dest...); err != nil {
		return errors.Join(err, c.rows.Close())
	}
	return c.load(&c.row)
}

// number reads a column that was scanned into an any.
func number(v any) (int64, error) {
	switch v := v.(type) {
	case int64:
		return v, nil
	case []byte:
		return strconv.ParseInt(string(v), 10, 64)
	default:
		return 0, fmt.Errorf("read number: have %T", v)
	}
}
