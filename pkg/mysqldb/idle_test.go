package mysqldb_test

import (
	"testing"

	"golang.org/x/sync/errgroup"

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
	const conns, rounds, tries = 32, 5, 2
	opened := ask("Connections")
	db, err := mysqldb.Open(server.AdminDSN(), mysqldb.Options{MaxConns: conns})
	must(t, err)
	defer func() { must(t, mysqldb.Close(db)) }()
	others := ask("Threads_connected")
	for range tries { // a process that stands still for half a second is too late
		before := ask("Aborted_clients")
		for round := range rounds {
			var calls errgroup.Group
			for i := range conns { // they end over half a second, as the calls of a service do
				calls.Go(func() error {
					return db.WithContext(t.Context()).Exec("DO SLEEP(?)", 0.3+float64(i)*(0.016+0.001*float64(round))).Error
				})
			}
			must(t, calls.Wait())
			serverstest.Eventually(t, "the connections are closed", func() bool { return ask("Threads_connected") <= others })
		}
		aborted := ask("Aborted_clients") - before
		if aborted == 0 {
			return
		}
		t.Logf("the server dropped %d of %d connections", aborted, ask("Connections")-opened)
	}
	t.Errorf("the server dropped connections in each of %d tries", tries)
}
