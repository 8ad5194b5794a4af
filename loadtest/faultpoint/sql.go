//go:build faults

package faultpoint

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"os"
	"strconv"
	"strings"

	"orderstock/pkg/mysqldb"
)

// Connector returns a connector whose connections pass a point before and after each statement that begins with one of
// the prefixes, and before and after each commit. An error before a commit rolls the transaction back.
func Connector(c driver.Connector, prefixes map[string]Step) driver.Connector {
	return connector{c, prefixes}
}

type connector struct {
	driver.Connector
	prefixes map[string]Step
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	base, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	made := conn{base.(mysqldb.Conn), c.prefixes}
	if idle := os.Getenv(IdleEnv); idle != "" {
		if _, err := made.Conn.ExecContext(ctx, "SET SESSION wait_timeout = "+idle, nil); err != nil {
			return nil, errors.Join(err, made.Close())
		}
	}
	return made, nil
}

type conn struct {
	mysqldb.Conn
	prefixes map[string]Step
}

func (c conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	for prefix, step := range c.prefixes {
		if strings.HasPrefix(query, prefix) {
			values := valuesOf(query, args)
			return around(ctx, step, &values, func() (driver.Result, error) {
				done, err := c.Conn.ExecContext(ctx, query, args)
				values.Error = Failed(err)
				if err == nil {
					n, _ := done.RowsAffected() // the driver always knows
					values.Rows = &n
				}
				return done, err
			})
		}
	}
	done, err := c.Conn.ExecContext(ctx, query, args)
	if err == nil && strings.HasPrefix(query, "UPDATE stock SET fencing_token") {
		n, _ := done.RowsAffected()
		Record(ctx, AnnounceToken, After, Values{Rows: &n})
	}
	return done, err
}

// valuesOf returns the values of a statement that changes one product.
func valuesOf(query string, args []driver.NamedValue) (v Values) {
	if strings.Contains(query, "num = num - CASE goods_id WHEN ? THEN ? END") && len(args) > 1 {
		v.Goods, _ = args[0].Value.(int64)
		num, _ := args[1].Value.(int64)
		v.Taken = &num
		return v
	}
	before, _, one := strings.Cut(query, "goods_id = ?")
	if !one || len(args) == 0 {
		return v
	}
	if at := strings.Count(before, "?"); at < len(args) {
		v.Goods, _ = args[at].Value.(int64)
	}
	num, _ := args[0].Value.(int64)
	switch {
	case strings.Contains(before, "num = ?"):
		v.Written = &num
	case strings.Contains(before, "num = num - ?"):
		v.Taken = &num
	}
	for _, arg := range args {
		if token, ok := arg.Value.([]byte); ok {
			v.Token = hex.EncodeToString(token)
		}
	}
	return v
}

// readLevels begins the statement that reads levels.
const readLevels = "SELECT goods_id, num, version, fencing_token FROM stock"

// QueryContext records the levels that are read.
func (c conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.QueryContext(ctx, query, args)
	if err != nil || !strings.HasPrefix(query, readLevels) {
		return rows, err
	}
	return levels{rows, ctx}, nil
}

type levels struct {
	driver.Rows
	ctx context.Context //nolint:containedctx // of the query: the rows are read under it
}

func (l levels) Next(dest []driver.Value) error {
	err := l.Rows.Next(dest)
	if err == nil {
		num := number(dest[1])
		v := Values{Goods: number(dest[0]), Read: &num}
		if token, ok := dest[3].([]byte); ok {
			v.Token = hex.EncodeToString(token)
		}
		Record(l.ctx, ReadStock, After, v)
	}
	return err
}

// number returns a whole number of a column.
func number(v driver.Value) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case []byte:
		n, _ := strconv.ParseInt(string(v), 10, 64) // the column has whole numbers
		return n
	}
	return 0
}

func (c conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	base, err := c.Conn.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return tx{base, ctx}, nil
}

type tx struct {
	driver.Tx
	ctx context.Context //nolint:containedctx // driver.Tx has no other way to pass it
}

func (t tx) Commit() error {
	if err := At(t.ctx, Commit, Before); err != nil {
		_ = t.Rollback() // a transaction that fails to roll back ends with its connection
		return err
	}
	if err := t.Tx.Commit(); err != nil {
		return err
	}
	return At(t.ctx, Commit, After)
}

func (t tx) Rollback() error {
	Record(t.ctx, RollBack, Before)
	return t.Tx.Rollback()
}

// around runs the step between its two points. It sets the values of the second.
func around[T any](ctx context.Context, step Step, values *Values, run func() (T, error)) (T, error) {
	var none T
	if err := At(ctx, step, Before, *values); err != nil {
		return none, err
	}
	out, err := run()
	if err != nil {
		Record(ctx, step, After, *values)
		return out, err
	}
	if err := At(ctx, step, After, *values); err != nil {
		return none, err
	}
	return out, nil
}
