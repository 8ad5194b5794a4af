package demo

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"

	"orderstock/loadtest/judge"
	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/verify"
	"orderstock/pkg/servers"
)

// The variables that make a program serve a shop: the shop's name, its address and the DSN of its database.
const (
	envShop    = "ORDERSTOCK_DEMO_SHOP"
	envAddress = "ORDERSTOCK_DEMO_ADDRESS"
	envDSN     = "ORDERSTOCK_DEMO_DSN"
)

// Asked reports whether Judge has started this program to serve a shop. Then it must call Serve.
func Asked() bool { return os.Getenv(envShop) != "" }

// Serve serves the shop for which Judge has started this program, until it fails, ctx ends or it is killed.
func Serve(ctx context.Context) error {
	i := slices.IndexFunc(Shops(), func(s Shop) bool { return s.Name == os.Getenv(envShop) })
	if i < 0 {
		return fmt.Errorf("there is no shop %q", os.Getenv(envShop))
	}
	db, err := open(os.Getenv(envDSN))
	if err != nil {
		return err
	}
	server := &http.Server{
		Addr: os.Getenv(envAddress), Handler: Shops()[i].handler(ctx, db), ReadHeaderTimeout: time.Minute,
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	return server.ListenAndServe()
}

// maxConnections bounds the connections of a shop.
const maxConnections = 32

func open(dsn string) (*sql.DB, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(maxConnections)
	db.SetMaxIdleConns(maxConnections)
	return db, nil
}

// Judge serves a shop over an empty database, which the DSN of an administrator names, and judges it: a right one in
// all phases, a wrong one up to the phase that must find it. The shop is this program, started again: its main function
// must ask Asked. Several may run at the same time, over different databases.
func Judge(ctx context.Context, s Shop, dsn string, seed uint64, progress io.Writer) (*judge.Result, error) {
	f, err := s.prepare(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("shop %s: %w", s.Name, err)
	}
	phases := judge.Phases()
	if s.Phase != "" {
		phases = phases[:slices.Index(phases, s.Phase)+1]
	}
	return judge.Run(ctx, judge.Config{
		File: f, Name: s.Name, Clients: 20, Seed: seed, Phases: phases, Progress: progress,
	})
}

// prepare makes the tables, and returns the judge's file.
func (s Shop) prepare(ctx context.Context, dsn string) (*shop.File, error) {
	db, err := open(dsn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // the tables are there, or not
	if err := setUp(ctx, db); err != nil {
		return nil, err
	}
	port, err := servers.FreePort()
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	start := fmt.Sprintf("%s='%s' %s='%s' %s='%s' exec '%s'", envShop, s.Name, envAddress, address, envDSN, dsn, self)
	return shop.Parse([]byte(s.text(address, dsn, start)), nil)
}

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
