package tracing

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"

	"github.com/XSAM/otelsql"
	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"

	"orderstock/pkg/redisdb"
)

// OpenDB returns a function that opens a connection pool whose statements and commits are recorded: a statement that
// begins with one of the prefixes under the name of its step, any other under its first two words. Their text is not
// recorded: it holds the values of hundreds of orders. OpenDB returns sql.OpenDB if tracing is off.
func (e *Exporter) OpenDB(steps map[string]string) func(driver.Connector) *sql.DB {
	if e == nil {
		return sql.OpenDB
	}
	return func(c driver.Connector) *sql.DB {
		return otelsql.OpenDB(c,
			otelsql.WithAttributes(attribute.String("db.system.name", "mysql")),
			otelsql.WithSpanNameFormatter(func(_ context.Context, method otelsql.Method, query string) string {
				if method == otelsql.MethodTxCommit {
					return "commit"
				}
				return nameOf(query, steps)
			}),
			otelsql.WithSpanOptions(otelsql.SpanOptions{
				DisableQuery: true, OmitRows: true,
				DisableErrSkip: true, // database/sql prepares the statement instead: no failure
				SpanFilter: func(ctx context.Context, method otelsql.Method, _ string, _ []driver.NamedValue) bool {
					return steppedMethods[method] && On(ctx)
				},
			}))
	}
}

var steppedMethods = map[otelsql.Method]bool{
	otelsql.MethodConnExec: true, otelsql.MethodConnQuery: true, otelsql.MethodTxCommit: true,
}

// nameOf returns the name of the statement's span.
func nameOf(query string, steps map[string]string) string {
	for prefix, step := range steps {
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

// Redis records the commands of client, without their arguments. It must be a client of redisdb.Open.
func (e *Exporter) Redis(client redisdb.Client) error {
	if e == nil {
		return nil
	}
	return redisotel.InstrumentTracing(client.(redis.UniversalClient),
		redisotel.WithDBStatement(false), redisotel.WithCallerEnabled(false), redisotel.WithDialFilter(true))
}
