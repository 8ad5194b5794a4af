package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"orderstock/pkg/mysqldb"
)

// User is an account of the database server.
type User struct {
	Name     string
	Password string
}

// Accounts names the databases and users that Bootstrap makes. No two users may share a name.
type Accounts struct {
	// OrderDB and StockDB are the names of the two databases.
	OrderDB, StockDB string
	// OrderApp and StockApp are the users of the services. Each may read, insert and update rows of its service's
	// database, and nothing else.
	OrderApp, StockApp User
	// Migrator owns the schemas of both databases.
	Migrator User
	// Verifier may only read both databases.
	Verifier User
}

// DefaultAccounts returns the project's usual names, without passwords.
func DefaultAccounts() Accounts { return AccountsOf("") }

// AccountsOf returns the project's usual names, each followed by the suffix, without passwords.
func AccountsOf(suffix string) Accounts {
	return Accounts{
		OrderDB: "order_db" + suffix, StockDB: "stock_db" + suffix,
		OrderApp: User{Name: "order_app" + suffix}, StockApp: User{Name: "stock_app" + suffix},
		Migrator: User{Name: "migrator" + suffix}, Verifier: User{Name: "verifier" + suffix},
	}
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_]{1,32}$`)

func (a Accounts) validate() error {
	names := []string{a.OrderDB, a.StockDB, a.OrderApp.Name, a.StockApp.Name, a.Migrator.Name, a.Verifier.Name}
	for _, name := range names {
		if !plainName.MatchString(name) {
			return fmt.Errorf("name %q: want 1 to 32 letters, digits or underscores", name)
		}
	}
	seen := map[string]bool{}
	for _, u := range []User{a.OrderApp, a.StockApp, a.Migrator, a.Verifier} {
		if u.Password == "" {
			return fmt.Errorf("user %s: empty password", u.Name)
		}
		if seen[u.Name] {
			return fmt.Errorf("user %s: named twice", u.Name)
		}
		seen[u.Name] = true
	}
	if a.OrderDB == a.StockDB {
		return errors.New("the two services need two databases")
	}
	return nil
}

// Bootstrap creates the two databases and the four users with their rights. admin connects as an administrator.
// Bootstrap may be called again, also by several processes at once; each call sets the passwords. It works on MySQL
// from 8.0 on and on MariaDB.
//
// It drops the anonymous users of some MariaDB installations, if admin may list them: they would hide the named users
// for connections from the same host.
func Bootstrap(ctx context.Context, admin *sql.DB, a Accounts) error {
	if err := a.validate(); err != nil {
		return fmt.Errorf("bootstrap: %w", err)
	}
	return locked(ctx, admin, "bootstrap", func(ctx context.Context) error {
		if err := dropAnonymous(ctx, admin); err != nil {
			return err
		}
		grouped, err := hasGroups(ctx, admin)
		if err != nil {
			return err
		}
		for _, s := range bootstrapStatements(a, grouped) {
			if _, err := admin.ExecContext(ctx, s.sql); err != nil {
				return fmt.Errorf("%s: %w", s.what, err) // never the statement: it holds a password
			}
		}
		return nil
	})
}

type statement struct{ what, sql string }

// hasGroups reports whether the server can be a member of a group. MySQL can, MariaDB cannot.
func hasGroups(ctx context.Context, admin *sql.DB) (bool, error) {
	var tables int
	err := admin.QueryRowContext(ctx, `SELECT COUNT(*) FROM information_schema.tables
		WHERE table_schema = 'performance_schema' AND table_name = 'replication_group_members'`).Scan(&tables)
	if err != nil {
		return false, fmt.Errorf("look for the list of a group's members: %w", err)
	}
	return tables > 0, nil
}

// bootstrapStatements returns the statements that create databases, users and rights. If the server can be in a group,
// all users may read the list of its members, so that mysqldb.Group finds the primary.
func bootstrapStatements(a Accounts, grouped bool) []statement {
	const rows = "SELECT, INSERT, UPDATE"
	var all []statement
	add := func(what, format string, args ...any) {
		all = append(all, statement{what, fmt.Sprintf(format, args...)})
	}
	for _, db := range []string{a.OrderDB, a.StockDB} {
		add("make database "+db, "CREATE DATABASE IF NOT EXISTS `%s` CHARACTER SET utf8mb4", db)
	}
	for _, u := range []User{a.OrderApp, a.StockApp, a.Migrator, a.Verifier} {
		add("make user "+u.Name, "CREATE USER IF NOT EXISTS '%s'@'%%' IDENTIFIED BY %s", u.Name, quote(u.Password))
		add("set password of "+u.Name, "ALTER USER '%s'@'%%' IDENTIFIED BY %s", u.Name, quote(u.Password))
	}
	grant := func(rights, db string, to User) {
		// In a grant, _ in a database's name would match any character.
		pattern := strings.ReplaceAll(db, "_", `\_`)
		add("grant to "+to.Name, "GRANT %s ON `%s`.* TO '%s'@'%%'", rights, pattern, to.Name)
	}
	if grouped {
		for _, u := range []User{a.OrderApp, a.StockApp, a.Migrator, a.Verifier} {
			add("grant to "+u.Name, "GRANT SELECT ON performance_schema.replication_group_members TO '%s'@'%%'", u.Name)
		}
	}
	grant(rows, a.OrderDB, a.OrderApp)
	grant(rows, a.StockDB, a.StockApp)
	for _, db := range []string{a.OrderDB, a.StockDB} {
		grant("ALL PRIVILEGES", db, a.Migrator)
		grant("SELECT", db, a.Verifier)
	}
	return all
}

func dropAnonymous(ctx context.Context, admin *sql.DB) error {
	// A user who may not read mysql.user finds none. The names are like ''@'host', where nothing is escaped.
	hosts, err := mysqldb.All(ctx, admin, mysqldb.One[string],
		`SELECT DISTINCT SUBSTRING(grantee, 5, CHAR_LENGTH(grantee) - 5) FROM information_schema.user_privileges`+
			` WHERE grantee LIKE '\'\'@%'`)
	if err != nil {
		return fmt.Errorf("list anonymous users: %w", err)
	}
	for _, host := range hosts {
		if _, err := admin.ExecContext(ctx, "DROP USER IF EXISTS ''@"+quote(host)); err != nil {
			return fmt.Errorf("drop anonymous user at %s: %w", host, err)
		}
	}
	return nil
}

// quote returns s as a string literal, for a server in its default mode, where backslashes escape.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
}
