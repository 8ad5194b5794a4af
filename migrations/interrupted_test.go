package migrations_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"orderstock/migrations"
	"orderstock/pkg/servers/serverstest"
)

// dying is a connector whose process dies after a number of statements: from
// then on no statement reaches the server.
type dying struct {
	driver.Connector
	left *atomic.Int64
}

var errDead = errors.New("the process is dead")

func (d dying) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := d.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return dyingConn{conn, d.left}, nil
}

type dyingConn struct {
	driver.Conn
	left *atomic.Int64
}

func (c dyingConn) alive() error {
	if c.left.Add(-1) < 0 {
		return errDead
	}
	return nil
}

// ExecContext counts the statement.
func (c dyingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

// QueryContext counts the statement.
func (c dyingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

// BeginTx counts the statement that begins a transaction, and the one that ends it.
func (c dyingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
	return dyingTx{tx, c}, err
}

type dyingTx struct {
	driver.Tx
	conn dyingConn
}

// Commit counts the commit.
func (t dyingTx) Commit() error {
	if err := t.conn.alive(); err != nil {
		_ = t.Tx.Rollback() // the server does this when the connection ends
		return err
	}
	return t.Tx.Commit()
}

// standing is a connector whose process stands still before its first commit, for longer than the server keeps its
// silent connections.
type standing struct {
	dying
	once *sync.Once
}

func (s standing) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := s.dying.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return standingConn{conn.(dyingConn), s.once}, nil
}

type standingConn struct {
	dyingConn
	once *sync.Once
}

// BeginTx begins a transaction that stands still before its commit.
func (c standingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.dyingConn.BeginTx(ctx, opts)
	return standingTx{tx, c.once}, err
}

type standingTx struct {
	driver.Tx
	once *sync.Once
}

func (t standingTx) Commit() error {
	t.once.Do(func() { time.Sleep(1500 * time.Millisecond) }) // the server's limit is a second
	return t.Tx.Commit()
}

// TestUpMayStandStill, also with the connections of a service's pool.
func TestUpMayStandStill(t *testing.T) {
	t.Parallel()
	cfg, err := mysql.ParseDSN(serverstest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Params = map[string]string{"wait_timeout": "1"}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var left atomic.Int64
	left.Store(1 << 30)
	db := sql.OpenDB(standing{dying{connector, &left}, new(sync.Once)})
	t.Cleanup(func() { _ = db.Close() })
	if err := migrations.Up(t.Context(), db, migrations.Stock); err != nil {
		t.Fatal(err)
	}
	if err := complete(t, db, migrations.Stock); err != nil {
		t.Error(err)
	}
}

// Each first run is killed one statement later than the one before it, until
// one gets through. After each, a second run has to bring the schema up.
func TestUpAfterADeathAtEachStatement(t *testing.T) {
	t.Parallel()
	for _, which := range []string{migrations.Order, migrations.Stock} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			for statements := int64(0); ; statements++ {
				dsn := serverstest.Database(t)
				cfg, err := mysql.ParseDSN(dsn)
				if err != nil {
					t.Fatal(err)
				}
				connector, err := mysql.NewConnector(cfg)
				if err != nil {
					t.Fatal(err)
				}
				var left atomic.Int64
				left.Store(statements)
				mortal := sql.OpenDB(dying{connector, &left})
				first := migrations.Up(t.Context(), mortal, which)
				_ = mortal.Close() // releases its locks
				healthy := sql.OpenDB(connector)
				err = migrations.Up(t.Context(), healthy, which)
				if err == nil {
					err = complete(t, healthy, which)
				}
				_ = healthy.Close()
				if err != nil {
					t.Errorf("killed after %d statements (%v), then once more: %v", statements, first, err)
				}
				if first == nil {
					t.Logf("%d statements", statements)
					return
				}
				if statements > 200 {
					t.Fatalf("never gets through: %v", first)
				}
			}
		})
	}
}

func complete(t *testing.T, db *sql.DB, which string) error {
	t.Helper()
	current, newest, err := migrations.Version(t.Context(), db, which)
	if err == nil && current != newest {
		err = fmt.Errorf("at version %d of %d", current, newest)
	}
	return err
}
