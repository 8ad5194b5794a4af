package otlp

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/tracing"
)

// OpenDB returns a function that opens a connection pool whose statements are recorded: a statement that begins with
// one of the prefixes under the name of its step, any other under its first two words. Their text is not recorded: it
// holds the values of hundreds of orders. OpenDB returns sql.OpenDB if tracing is off.
func (e *Exporter) OpenDB(steps map[string]string) func(driver.Connector) *sql.DB {
	if e == nil {
		return sql.OpenDB
	}
	return func(c driver.Connector) *sql.DB { return sql.OpenDB(connector{c, steps}) }
}

type connector struct {
	driver.Connector
	steps map[string]string
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	base, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return conn{base.(mysqldb.Conn), c.steps}, nil
}

// conn records the statements and commits of a connection.
type conn struct {
	mysqldb.Conn
	steps map[string]string
}

var mysql = attribute.String("db.system.name", "mysql")

func (c conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return record(ctx, c, query, func(ctx context.Context) (driver.Result, error) {
		return c.Conn.ExecContext(ctx, query, args)
	})
}

func (c conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return record(ctx, c, query, func(ctx context.Context) (driver.Rows, error) {
		return c.Conn.QueryContext(ctx, query, args)
	})
}

// record runs a statement, in a child span if ctx is recorded.
func record[T any](ctx context.Context, c conn, query string, run func(context.Context) (T, error)) (T, error) {
	if !tracing.On(ctx) {
		return run(ctx)
	}
	ctx, call := tracing.Call(ctx, c.name(query), mysql)
	out, err := run(ctx)
	if errors.Is(err, driver.ErrSkip) { // database/sql prepares the statement instead: no failure
		call.End(nil)
	} else {
		call.End(err)
	}
	return out, err
}

func (c conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	base, err := c.Conn.BeginTx(ctx, opts)
	if err != nil || !tracing.On(ctx) {
		return base, err
	}
	return tx{base, ctx}, nil
}

type tx struct {
	driver.Tx
	ctx context.Context //nolint:containedctx // Commit has none
}

func (t tx) Commit() error {
	_, call := tracing.Call(t.ctx, "commit", mysql)
	err := t.Tx.Commit()
	call.End(err)
	return err
}

// name returns the name of the statement's span.
func (c conn) name(query string) string {
	for prefix, step := range c.steps {
		if strings.HasPrefix(query, prefix) {
			return step
		}
	}
	words := strings.Fields(query[:min(len(query), 300)])
	if len(words) == 0 {
		return "sql"
	}
	for i, word := range words[:len(words)-1] {
		switch strings.ToUpper(word) {
		case "FROM", "INTO", "UPDATE":
			return "sql " + words[0] + " " + strings.Trim(words[i+1], "`")
		}
	}
	return "sql " + words[0]
}
