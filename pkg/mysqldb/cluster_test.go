//go:build cluster

package mysqldb_test

import (
	"testing"

	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

// TestDefaultsOfMySQLHaveNoEffect is TestDefaultsOfTheServerHaveNoEffect on a server that can be in a group.
func TestDefaultsOfMySQLHaveNoEffect(t *testing.T) {
	t.Parallel()
	g, err := servers.StartMySQLGroup(t.Context(), t.TempDir(), 1, nil)
	must(t, err)
	t.Cleanup(func() { must(t, g.Kill()) })
	must(t, g.Members[0].Exec(t.Context(), "SET GLOBAL super_read_only = OFF", "SET GLOBAL offline_mode = OFF"))
	defaultsHaveNoEffect(t, g.Members[0], serverstest.Spoil(t, g.Members[0]))
}

// TestReadyCheckOfMySQL is TestReadyCheckOfAReadOnlyServer for MySQL's own variable.
func TestReadyCheckOfMySQL(t *testing.T) {
	t.Parallel()
	readyWhileWritable(t, startMySQL(t), "SET GLOBAL super_read_only = ON")
}

// TestReadyCheckOfMySQLsTables is TestReadyCheckOfTables for MySQL.
func TestReadyCheckOfMySQLsTables(t *testing.T) {
	t.Parallel()
	readyWhileTablesAre(t, startMySQL(t))
}

// TestMySQLDropsNoIdleConnection is TestTheServerDropsNoIdleConnection for MySQL.
func TestMySQLDropsNoIdleConnection(t *testing.T) {
	t.Parallel()
	dropsNoIdleConnection(t, startMySQL(t))
}

// startMySQL starts a MySQL server, not a MariaDB.
func startMySQL(t *testing.T) *servers.MySQL {
	t.Helper()
	image, err := servers.FromImage(t.Context())
	must(t, err)
	server, err := servers.StartMySQL(t.Context(), servers.Options{Dir: t.TempDir(), Program: image})
	must(t, err)
	t.Cleanup(func() { must(t, server.Kill()) })
	return server
}
