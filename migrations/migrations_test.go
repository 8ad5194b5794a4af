package migrations_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sync/errgroup"

	"orderstock/migrations"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

// accounts are databases and users that no other test has.
func accounts(t *testing.T) migrations.Accounts {
	t.Helper()
	suffix := strings.ToLower(rand.Text()[:10])
	user := func(name string) migrations.User {
		return migrations.User{Name: name + "_" + suffix, Password: `it's \a "` + name + `" password`}
	}
	a := migrations.Accounts{
		OrderDB: "order_" + suffix, StockDB: "stock_" + suffix,
		OrderApp: user("order_app"), StockApp: user("stock_app"), Migrator: user("migrator"), Verifier: user("verifier"),
	}
	server := serverstest.MySQL(t)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for _, u := range []migrations.User{a.OrderApp, a.StockApp, a.Migrator, a.Verifier} {
			if err := server.Exec(ctx, "DROP USER IF EXISTS '"+u.Name+"'@'%'"); err != nil {
				t.Error(err)
			}
		}
		if err := server.Exec(ctx, "DROP DATABASE IF EXISTS "+a.OrderDB, "DROP DATABASE IF EXISTS "+a.StockDB); err != nil {
			t.Error(err)
		}
	})
	return a
}

// migrated returns new accounts with both databases.
func migrated(t *testing.T) migrations.Accounts {
	t.Helper()
	a := accounts(t)
	if err := migrations.Run(t.Context(), migrations.Config{
		AdminDSN: serverstest.MySQLAdminDSN(t), Accounts: a,
	}); err != nil {
		t.Fatal(err)
	}
	return a
}

// as returns the configuration for the user's connection to the database.
func as(t *testing.T, u migrations.User, database string) *mysql.Config {
	t.Helper()
	cfg, err := mysql.ParseDSN(serverstest.MySQLAdminDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	cfg.User, cfg.Passwd, cfg.DBName = u.Name, u.Password, database
	return cfg
}

func connect(t *testing.T, u migrations.User, database string) *sql.DB {
	t.Helper()
	cfg := as(t, u, database)
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestRunTwiceAndSeveralAtOnce(t *testing.T) {
	t.Parallel()
	cfg := migrations.Config{AdminDSN: serverstest.MySQLAdminDSN(t), Accounts: accounts(t)}
	var atOnce errgroup.Group
	for range 4 {
		atOnce.Go(func() error { return migrations.Run(t.Context(), cfg) })
	}
	if err := atOnce.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := migrations.Run(t.Context(), cfg); err != nil {
		t.Fatalf("once more: %v", err)
	}
	status, err := migrations.ReadStatus(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(status) != 2 || status[0].Database != cfg.Accounts.OrderDB || status[1].Database != cfg.Accounts.StockDB {
		t.Fatalf("status %+v", status)
	}
	for _, s := range status {
		if s.Current == 0 || s.Current != s.Newest {
			t.Errorf("%s is at version %d of %d", s.Schema, s.Current, s.Newest)
		}
		db := connect(t, cfg.Accounts.Migrator, s.Database)
		var applied int
		err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM goose_db_version WHERE version_id > 0").Scan(&applied)
		if err != nil {
			t.Fatal(err)
		}
		if int64(applied) != s.Newest {
			t.Errorf("%s: %d migrations applied, want each of %d once", s.Schema, applied, s.Newest)
		}
	}
}

// An anonymous user of a host comes before 'order_app'@'%' for clients of that host, who could not log in then.
func TestAnonymousUsersAreDropped(t *testing.T) {
	t.Parallel()
	server := serverstest.MySQL(t)
	if err := server.Exec(t.Context(), "CREATE USER IF NOT EXISTS ''@'it''s nobody''s'"); err != nil {
		t.Fatal(err)
	}
	migrated(t)
	admin, err := sql.Open("mysql", serverstest.MySQLAdminDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	var left int
	err = admin.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM mysql.user WHERE User = ''").Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("%d anonymous users are left, %v", left, err)
	}
}

// An administrator need not be able to read mysql.user.
func TestRunByAnAdministratorOfFewRights(t *testing.T) {
	t.Parallel()
	server := serverstest.Start(t, servers.StartMySQL, servers.Options{})
	if err := server.Exec(t.Context(), "CREATE USER few@'%' IDENTIFIED BY 'few'",
		"GRANT CREATE USER ON *.* TO few@'%' WITH GRANT OPTION",
		"GRANT ALL ON `order\\_db`.* TO few@'%' WITH GRANT OPTION",
		"GRANT ALL ON `stock\\_db`.* TO few@'%' WITH GRANT OPTION"); err != nil {
		t.Fatal(err)
	}
	a := migrations.DefaultAccounts()
	for _, u := range []*migrations.User{&a.OrderApp, &a.StockApp, &a.Migrator, &a.Verifier} {
		u.Password = "secret"
	}
	cfg := migrations.Config{AdminDSN: server.DSN("few", "few", ""), Accounts: a}
	if err := migrations.Run(t.Context(), cfg); err != nil {
		t.Error(err)
	}
}

func TestStatusOfAnEmptyDatabaseChangesNothing(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("mysql", serverstest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	current, newest, err := migrations.Version(t.Context(), db, migrations.Stock)
	if err != nil || current != 0 || newest == 0 {
		t.Fatalf("version %d of %d, %v; want 0", current, newest, err)
	}
	var tables int
	err = db.QueryRowContext(t.Context(),
		"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()").Scan(&tables)
	if err != nil || tables != 0 {
		t.Errorf("%d tables after a look, %v", tables, err)
	}
}

func TestUsersCanDoNoMoreThanTheyShould(t *testing.T) {
	t.Parallel()
	a := migrated(t)
	const (
		insertOrder = `INSERT INTO orders (id, status, body_hash, total, created_at, updated_at) ` +
			`VALUES (1, 'PENDING', REPEAT('0', 32), 0, NOW(6), NOW(6))`
		insertStock = `INSERT INTO stock (goods_id, updated_at) VALUES (1, NOW(6))`
	)
	for _, c := range []struct {
		user     migrations.User
		database string
		may      []string
		mayNot   []string
	}{
		{
			a.OrderApp, a.OrderDB,
			[]string{insertOrder, "UPDATE orders SET total = 1 WHERE id = 1", "SELECT COUNT(*) FROM order_items"},
			[]string{
				"CREATE TABLE x (i INT)", "DROP TABLE orders", "ALTER TABLE orders ADD x INT", "TRUNCATE orders",
				"CREATE INDEX x ON orders (total)", "DELETE FROM orders", "SELECT * FROM " + a.StockDB + ".stock", "UPDATE " +
					a.StockDB + ".stock SET num = 1",
			},
		},
		{
			a.StockApp, a.StockDB,
			[]string{insertStock, "UPDATE stock SET num = 0 WHERE goods_id = 1", "SELECT COUNT(*) FROM stock_flow"},
			[]string{
				"CREATE TABLE x (i INT)", "DROP TABLE stock", "ALTER TABLE stock ADD x INT", "TRUNCATE stock",
				"DELETE FROM stock_flow", "SELECT * FROM " + a.OrderDB + ".orders", "UPDATE " + a.OrderDB +
					".orders SET total = 1",
			},
		},
		{
			a.Verifier, "",
			[]string{"SELECT COUNT(*) FROM " + a.OrderDB + ".orders", "SELECT COUNT(*) FROM " + a.StockDB + ".stock_flow"},
			[]string{
				"UPDATE " + a.StockDB + ".stock SET num = 1", "DELETE FROM " + a.OrderDB + ".orders",
				"SELECT * FROM mysql.user", "CREATE TABLE " + a.OrderDB + ".x (i INT)",
			},
		},
	} {
		db := connect(t, c.user, c.database)
		for _, statement := range c.may {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Errorf("%s may not %q: %v", c.user.Name, statement, err)
			}
		}
		for _, statement := range c.mayNot {
			_, err := db.ExecContext(t.Context(), statement)
			var refused *mysql.MySQLError
			if !errors.As(err, &refused) || refused.Number != 1142 && refused.Number != 1044 && refused.Number != 1227 {
				t.Errorf("%s may %q: %v; want it denied", c.user.Name, statement, err)
			}
		}
		if c.database == "" {
			continue
		}
		other := a.OrderDB
		if c.database == a.OrderDB {
			other = a.StockDB
		}
		if err := connect(t, c.user, other).PingContext(t.Context()); err == nil {
			t.Errorf("%s may use %s", c.user.Name, other)
		}
	}
}

// TestARightPasswordIsNotSetAgain: a server that remembers passwords refuses one that it knows. A new one is set.
func TestARightPasswordIsNotSetAgain(t *testing.T) {
	t.Parallel()
	server := serverstest.Start(t, servers.StartMySQL, servers.Options{})
	rememberPasswords(t, server)
	runTwiceWithMemory(t, server)
}

// rememberPasswords makes the server refuse passwords that an account had before.
func rememberPasswords(t *testing.T, server *servers.MySQL) {
	t.Helper()
	version, err := server.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rule := "SET GLOBAL password_history = 3"
	if strings.Contains(version, "MariaDB") {
		rule = "INSTALL SONAME 'password_reuse_check'"
	}
	if err := server.Exec(t.Context(), rule); err != nil {
		t.Fatal(err)
	}
}

func runTwiceWithMemory(t *testing.T, server *servers.MySQL) {
	t.Helper()
	cfg := migrations.Config{AdminDSN: server.AdminDSN(), Accounts: migrations.DefaultAccounts()}
	a := &cfg.Accounts
	for _, u := range []*migrations.User{&a.OrderApp, &a.StockApp, &a.Migrator, &a.Verifier} {
		u.Password = "Secret-" + u.Name
	}
	for _, changed := range []string{"", "", "Another-1", "Another-2", "Another-2"} {
		if changed != "" {
			a.StockApp.Password, a.Migrator.Password = changed, changed
		}
		if err := migrations.Run(t.Context(), cfg); err != nil {
			t.Fatalf("with the password %q: %v", changed, err)
		}
		for u, database := range map[migrations.User]string{
			a.OrderApp: a.OrderDB, a.StockApp: a.StockDB, a.Migrator: a.OrderDB, a.Verifier: a.StockDB,
		} {
			db, err := mysqldb.Open(server.DSN(u.Name, u.Password, database), mysqldb.Options{})
			if err == nil {
				err = errors.Join(mysqldb.ReadyCheck(db)(t.Context()), mysqldb.Close(db))
			}
			if err != nil {
				t.Errorf("%s with the password %q: %v", u.Name, u.Password, err)
			}
		}
	}
	a.Verifier.Password = "Secret-verifier"
	a.StockApp.Password = "Secret-stock_app" // remembered
	if err := migrations.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "stock_app") {
		t.Errorf("a password that the server remembers: %v; want the account's name", err)
	}
}

// In a grant an unescaped _ in a database's name would stand for any character.
func TestAGrantIsForOneDatabase(t *testing.T) {
	t.Parallel()
	a := accounts(t)
	lookalike := strings.Replace(a.OrderDB, "_", "x", 1)
	server := serverstest.MySQL(t)
	if err := server.Exec(t.Context(), "CREATE DATABASE "+lookalike); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Exec(context.WithoutCancel(t.Context()), "DROP DATABASE "+lookalike); err != nil {
			t.Error(err)
		}
	})
	if err := migrations.Run(t.Context(), migrations.Config{
		AdminDSN: serverstest.MySQLAdminDSN(t), Accounts: a,
	}); err != nil {
		t.Fatal(err)
	}
	if err := connect(t, a.OrderApp, lookalike).PingContext(t.Context()); err == nil {
		t.Errorf("%s may use %s too", a.OrderApp.Name, lookalike)
	}
}

func TestRunRefusesInvalidAccounts(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*migrations.Accounts){
		"empty password":       func(a *migrations.Accounts) { a.StockApp.Password = "" },
		"same user twice":      func(a *migrations.Accounts) { a.StockApp.Name = a.OrderApp.Name },
		"one database for two": func(a *migrations.Accounts) { a.StockDB = a.OrderDB },
		"a name with a quote":  func(a *migrations.Accounts) { a.OrderDB = "order`; DROP" },
	} {
		a := migrations.DefaultAccounts()
		for i, u := range []*migrations.User{&a.OrderApp, &a.StockApp, &a.Migrator, &a.Verifier} {
			u.Password = fmt.Sprint("secret", i)
		}
		change(&a)
		err := migrations.Run(t.Context(), migrations.Config{Accounts: a})
		if err == nil || !strings.HasPrefix(err.Error(), "accounts: ") {
			t.Errorf("%s: %v; want an error about the accounts", name, err)
		}
	}
}

func TestRunWaitsNotLongerThanConfigured(t *testing.T) {
	t.Parallel()
	cfg := migrations.Config{AdminDSN: "root:secret@tcp(127.0.0.1:1)/", Accounts: accounts(t), Wait: time.Second}
	start := time.Now()
	err := migrations.Run(t.Context(), cfg)
	if err == nil || time.Since(start) > 10*time.Second {
		t.Errorf("after %s: %v; want an error after a second", time.Since(start), err)
	}
	if err != nil && strings.Contains(err.Error(), "secret") {
		t.Errorf("the error shows the password: %v", err)
	}
}
