package demo

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http/httptest"
	"slices"

	"github.com/go-sql-driver/mysql"

	"orderstock/loadtest/judge"
	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/verify"
)

// Judge serves a shop over an empty database, which the DSN of an administrator names, and judges it. Several may run
// at the same time, over different databases.
func Judge(ctx context.Context, s Shop, dsn string, seed uint64, progress io.Writer) (*judge.Result, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("shop %s: %w", s.Name, err)
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("shop %s: %w", s.Name, err)
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }() // the database is dropped
	db.SetMaxOpenConns(maxConnections)
	db.SetMaxIdleConns(maxConnections)
	if err := setUp(ctx, db); err != nil {
		return nil, fmt.Errorf("shop %s: %w", s.Name, err)
	}
	open, close := context.WithCancel(ctx)
	server := httptest.NewServer(handler(s.order(open, db)))
	defer server.Close()
	defer close() // ends the calls that hang, for which the server would wait
	f, err := shop.Parse(fmt.Appendf(nil, file, server.URL, dsn), nil)
	if err != nil {
		return nil, fmt.Errorf("shop %s: %w", s.Name, err)
	}
	return judge.Run(ctx, judge.Config{
		File: f, Name: s.Name, Clients: 20, Seed: seed, Progress: progress,
	})
}

// maxConnections bounds the connections of a shop.
const maxConnections = 32

// Found returns the first phase that was not passed, and what it violated.
func Found(r *judge.Result) (phase string, violated []string) {
	for _, p := range r.Phases {
		if len(p.Violations) > 0 {
			return p.Name, p.Violated()
		}
	}
	return "", nil
}

// Judged reports whether the shop was judged for what it does: in the phase that it names, by the invariant that it
// names, or as right.
func (s Shop) Judged(r *judge.Result) bool {
	phase, violated := Found(r)
	if s.Phase == "" {
		return r.Outcome == verify.Pass
	}
	return phase == s.Phase && slices.Contains(violated, s.Violates)
}
