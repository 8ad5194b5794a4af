//go:build cluster

package migrations_test

import (
	"database/sql"
	"testing"

	"orderstock/migrations"
	"orderstock/pkg/mysqlgroup"
	"orderstock/pkg/servers"
)

// mysqlServer starts a MySQL server, not a MariaDB.
func mysqlServer(t *testing.T, args ...string) *servers.MySQL {
	t.Helper()
	image, err := servers.FromImage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server, err := servers.StartMySQL(t.Context(), servers.Options{Dir: t.TempDir(), Program: image, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Kill(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// TestARightPasswordIsNotSetAgainOnMySQL is TestARightPasswordIsNotSetAgain for MySQL's own history.
func TestARightPasswordIsNotSetAgainOnMySQL(t *testing.T) {
	t.Parallel()
	server := mysqlServer(t)
	rememberPasswords(t, server)
	runTwiceWithMemory(t, server)
}

// TestARightPasswordIsNotSetAgainInAGroup: the password is tried at the primary.
func TestARightPasswordIsNotSetAgainInAGroup(t *testing.T) {
	t.Parallel()
	g, err := servers.StartMySQLGroup(t.Context(), t.TempDir(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Kill(); err != nil {
			t.Error(err)
		}
	})
	rememberPasswords(t, g.Members[0])
	group := mysqlgroup.Config{AdminDSN: g.MySQL().AdminDSN(), Password: "secret"}
	if err := mysqlgroup.Up(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	runTwiceWithMemory(t, g.MySQL())
}

// TestPartialRevokes: with partial_revokes, a database's name in a grant is no pattern. The services keep their rights
// when it is switched on or off, and so does the migrator after the next run.
func TestPartialRevokes(t *testing.T) {
	t.Parallel()
	server := mysqlServer(t)
	cfg := migrations.Config{AdminDSN: server.AdminDSN(), Accounts: migrations.DefaultAccounts()}
	a := &cfg.Accounts
	for _, u := range []*migrations.User{&a.OrderApp, &a.StockApp, &a.Migrator, &a.Verifier} {
		u.Password = "secret"
	}
	may := func(when string) {
		t.Helper()
		for _, c := range []struct {
			user                migrations.User
			database, statement string
		}{
			{a.OrderApp, a.OrderDB, "UPDATE orders SET total = 1 WHERE id = 1"},
			{a.StockApp, a.StockDB, "UPDATE stock SET num = 0 WHERE goods_id = 1"},
			{a.Verifier, a.OrderDB, "SELECT COUNT(*) FROM orders"},
			{a.Verifier, a.StockDB, "SELECT COUNT(*) FROM stock_flow"},
		} {
			db, err := sql.Open("mysql", server.DSN(c.user.Name, c.user.Password, c.database))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.ExecContext(t.Context(), c.statement); err != nil {
				t.Errorf("%s: %s may not %s: %v", when, c.user.Name, c.statement, err)
			}
			_ = db.Close() // it has changed nothing
		}
	}
	for _, setting := range []string{"OFF", "ON", "OFF"} {
		if err := server.Exec(t.Context(), "SET GLOBAL partial_revokes = "+setting, "FLUSH PRIVILEGES"); err != nil {
			t.Fatal(err)
		}
		if setting == "ON" {
			may("switched on")
		}
		if err := migrations.Run(t.Context(), cfg); err != nil {
			t.Errorf("partial_revokes = %s: %v", setting, err)
		}
		may("after a run with " + setting)
	}
	fresh := mysqlServer(t, "--partial-revokes=ON")
	cfg.AdminDSN = fresh.AdminDSN()
	if err := migrations.Run(t.Context(), cfg); err != nil {
		t.Errorf("a new server with partial_revokes: %v", err)
	}
}
