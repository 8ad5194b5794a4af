package mysqldb_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"
	"time"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

// meddling runs a statement in each new connection after it was set up, as a proxy may.
type meddling struct {
	driver.Connector
	statement string
}

func (m meddling) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := m.Connector.Connect(ctx)
	if err == nil {
		_, err = conn.(driver.ExecerContext).ExecContext(ctx, m.statement, nil)
	}
	return conn, err
}

// TestReadyCheckOfTransactions: a server whose commits other connections do not see is not ready.
func TestReadyCheckOfTransactions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, meddle string
		want         error
	}{
		{"as set up", "DO 0", nil},
		{"autocommit off", "SET SESSION autocommit = 0", mysqldb.ErrInvisible},
		{"chained transactions", "SET SESSION completion_type = 'CHAIN'", mysqldb.ErrInvisible},
		{"old snapshots", "SET SESSION autocommit = 0, SESSION completion_type = 'CHAIN'", mysqldb.ErrInvisible},
	} {
		for _, conns := range []int{1, 8} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				db := open(t, mysqldb.Options{MaxConns: conns, Wrap: func(base driver.Connector) driver.Connector {
					return meddling{base, c.meddle}
				}})
				check := mysqldb.ReadyCheck(db)
				for range 3 {
					if err := check(t.Context()); !errors.Is(err, c.want) || err != nil && c.want == nil {
						t.Errorf("%d connections: %v; want %v", conns, err, c.want)
					}
				}
			})
		}
	}
}

// TestReadyCheckOfAReadOnlyServer: a server that refuses writes later on is not ready until it takes them again.
func TestReadyCheckOfAReadOnlyServer(t *testing.T) {
	t.Parallel()
	readyWhileWritable(t, serverstest.Start(t, servers.StartMySQL, servers.Options{}), "SET GLOBAL read_only = ON")
}

func readyWhileWritable(t *testing.T, server *servers.MySQL, close string) {
	t.Helper()
	must(t, server.Exec(t.Context(), "CREATE DATABASE shop", "CREATE TABLE shop.stock (id INT PRIMARY KEY)",
		"CREATE USER plain@'%' IDENTIFIED BY 'plain'", "GRANT SELECT, INSERT ON shop.* TO plain@'%'"))
	db, err := mysqldb.Open(server.DSN("plain", "plain", "shop"), mysqldb.Options{})
	must(t, err)
	defer func() { must(t, mysqldb.Close(db)) }()
	check := mysqldb.ReadyCheck(db)
	for i, readOnly := range []bool{false, true, false} {
		must(t, server.Exec(t.Context(), map[bool]string{false: "SET GLOBAL read_only = OFF", true: close}[readOnly]))
		wrote, ready := db.Exec("INSERT INTO stock VALUES (?)", i).Error, check(t.Context())
		if (wrote != nil) != readOnly || errors.Is(ready, mysqldb.ErrReadOnly) != readOnly || ready != nil && !readOnly {
			t.Errorf("read-only: %t; writes %v, ready %v", readOnly, wrote, ready)
		}
	}
}

// TestReadyCheckOfTables: a server that refuses the writes to a table, or keeps them waiting, is not ready until it
// takes them again. A row that somebody holds makes it no less ready.
func TestReadyCheckOfTables(t *testing.T) {
	t.Parallel()
	readyWhileTablesAre(t, serverstest.Start(t, servers.StartMySQL, servers.Options{}))
}

func readyWhileTablesAre(t *testing.T, server *servers.MySQL) {
	t.Helper()
	must(t, server.Exec(t.Context(), "CREATE DATABASE shop", "CREATE USER plain@'%' IDENTIFIED BY 'plain'",
		"CREATE TABLE shop.stock (id INT PRIMARY KEY, num INT NOT NULL DEFAULT 0) ENGINE = InnoDB",
		"GRANT SELECT, INSERT ON shop.* TO plain@'%'", "INSERT INTO shop.stock VALUES (1, 1), (3, 3)"))
	db, err := mysqldb.Open(server.DSN("plain", "plain", "shop"), mysqldb.Options{MaxConns: 1})
	must(t, err)
	defer func() { must(t, mysqldb.Close(db)) }()
	check := mysqldb.ReadyCheck(db, mysqldb.Table{Name: "stock", Columns: "id, num"})
	admin, err := mysqldb.Open(server.AdminDSNFor("shop"), mysqldb.Options{IdleTimeout: time.Hour, LockWait: time.Minute})
	must(t, err)
	defer func() { must(t, mysqldb.Close(admin)) }()
	pool, err := admin.DB()
	must(t, err)
	for _, c := range []struct{ what, strike, heal, says string }{
		{"read lock", "FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES", "FLUSH TABLES"},
		{"table lock", "LOCK TABLES stock WRITE", "UNLOCK TABLES", "LOCK TABLES"},
		{"no table", "RENAME TABLE stock TO away", "RENAME TABLE away TO stock", "migrate up"},
		{"no column", "ALTER TABLE stock DROP num", "ALTER TABLE stock ADD num INT NOT NULL DEFAULT 0", "migrate up"},
		{"statements logged", "SET GLOBAL binlog_format = STATEMENT", "SET GLOBAL binlog_format = ROW", "BINLOG_FORMAT"},
		{"rows held", "UPDATE stock SET num = num + 1", "ROLLBACK", ""},
		{"keys held", "INSERT INTO stock VALUES (0, 0), (2, 2), (4, 4)", "ROLLBACK", ""},
	} {
		must(t, check(t.Context()))
		conn, err := pool.Conn(t.Context())
		must(t, err)
		statements := []string{c.strike}
		if c.says == "" {
			statements = []string{"BEGIN", c.strike}
		}
		for _, s := range statements {
			_, err := conn.ExecContext(t.Context(), s)
			must(t, err)
		}
		// A session keeps the binlog_format of its begin, until the pool drops it.
		serverstest.Eventually(t, "the check's connection is gone", func() bool {
			var n int
			must(t, server.QueryRow(t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'plain'", &n))
			return n == 0
		})
		err = check(t.Context())
		if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %q", c.what, err, c.says)
		}
		_, err = conn.ExecContext(t.Context(), c.heal)
		must(t, err)
		must(t, conn.Close())
		if err := check(t.Context()); err != nil {
			t.Errorf("%s, healed: %v", c.what, err)
		}
	}

	// An ALTER that waits for a long transaction keeps all writes waiting.
	reader := admin.Begin()
	must(t, reader.Exec("SELECT * FROM stock").Error)
	altered := make(chan error, 1)
	go func() { altered <- admin.Exec("ALTER TABLE stock MODIFY num BIGINT NOT NULL").Error }()
	for begun := time.Now(); check(t.Context()) == nil; {
		if time.Since(begun) > 20*time.Second {
			t.Error("ready while an ALTER keeps the writes waiting")
			break
		}
	}
	must(t, reader.Rollback().Error)
	must(t, <-altered)
	must(t, check(t.Context()))
}
