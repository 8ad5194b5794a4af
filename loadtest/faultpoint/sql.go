//go:build faults

package faultpoint

import (
	"context"
	"database/sql/driver"
	"errors"
	"os"
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
			return around(ctx, step, func() (driver.Result, error) { return c.Conn.ExecContext(ctx, query, args) })
		}
	}
	return c.Conn.ExecContext(ctx, query, args)
}

func (c conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	base, err := c.Conn.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return tx{base, func(when When) error { return At(ctx, Commit, when) }}, nil
}

type tx struct {
	driver.Tx
	point func(When) error // the commit's
}

func (t tx) Commit() error {
	if err := t.point(Before); err != nil {
		_ = t.Rollback() // a transaction that fails to roll back ends with its connection
		return err
	}
	if err := t.Tx.Commit(); err != nil {
		return err
	}
	return t.point(After)
}

// around runs the step between its two points.
func around[T any](ctx context.Context, step Step, run func() (T, error)) (T, error) {
	var none T
	if err := At(ctx, step, Before); err != nil {
		return none, err
	}
	out, err := run()
	if err != nil {
		return out, err
	}
	if err := At(ctx, step, After); err != nil {
		return none, err
	}
	return out, nil
}
