package mysqldb_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

// TestTheServerDropsNoIdleConnection: the pool closes idle connections before the server does, which would log each.
func TestTheServerDropsNoIdleConnection(t *testing.T) {
	t.Parallel()
	dropsNoIdleConnection(t, serverstest.Start(t, servers.StartMySQL, servers.Options{}))
}

func dropsNoIdleConnection(t *testing.T, server *servers.MySQL) {
	t.Helper()
	ask := func(status string) (n int) {
		t.Helper()
		must(t, server.QueryRow(t.Context(), "SHOW GLOBAL STATUS LIKE '"+status+"'", new(string), &n))
		return n
	}
	const conns, rounds = 32, 5
	db, err := mysqldb.Open(server.AdminDSN(), mysqldb.Options{MaxConns: conns})
	must(t, err)
	defer func() { must(t, mysqldb.Close(db)) }()
	pool, err := db.DB()
	must(t, err)
	others, before := ask("Threads_connected"), ask("Aborted_clients")
	for round := range rounds {
		var used []*sql.Conn
		for range conns {
			conn, err := pool.Conn(t.Context())
			must(t, err)
			used = append(used, conn)
		}
		for i, conn := range used { // over half a second, as the calls of a service end
			must(t, conn.PingContext(t.Context()))
			must(t, conn.Close())
			time.Sleep(time.Duration(i%2) * (29 + time.Duration(round)) * time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		for ask("Threads_connected") > others {
			must(t, ctx.Err())
			time.Sleep(50 * time.Millisecond)
		}
		cancel()
	}
	if aborted := ask("Aborted_clients") - before; aborted > 0 {
		t.Errorf("the server dropped %d of %d connections", aborted, conns*rounds)
	}
}
