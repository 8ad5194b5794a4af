package mysqldb_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"

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
