package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-sql-driver/mysql"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/mysqluser"
)

// User is an account of the database server.
type User struct {
	Name     string
	Password string
}

// Accounts names the databases and users that Run makes. No two users may share a name.
type Accounts struct {
	// OrderDB and StockDB are the names of the two databases.
	OrderDB, StockDB string
	// OrderApp and StockApp are the users of the services. Each may read, insert and update rows of the tables of its
	// service's database, and nothing else.
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
	for _, u := range a.users() {
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

func (a Accounts) users() []User { return []User{a.OrderApp, a.StockApp, a.Migrator, a.Verifier} }

// bootstrap creates the two databases and the four users, with all rights that need no table. admin connects as an
// administrator to server, which is no group.
//
// It drops the anonymous users of some MariaDB installations, if admin may list them: they would hide the named users
// for connections from the same host.
func bootstrap(ctx context.Context, admin *sql.DB, server *mysql.Config, a Accounts) error {
	if err := dropAnonymous(ctx, admin); err != nil {
		return err
	}
	for _, db := range []string{a.OrderDB, a.StockDB} {
		statement := fmt.Sprintf("CREATE DATABASE IF NOT EXISTS `%s` CHARACTER SET utf8mb4", db)
		if _, err := admin.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("make database %s: %w", db, err)
		}
	}
	for _, u := range a.users() {
		if err := (mysqluser.User{Name: u.Name, Password: u.Password}).Ensure(ctx, admin, server); err != nil {
			return err
		}
	}
	grouped, literal, err := traits(ctx, admin)
	if err != nil {
		return err
	}
	if grouped { // so that mysqldb.Cluster finds the primary
		for _, u := range a.users() {
			if err := grant(ctx, admin, "SELECT", "performance_schema.replication_group_members", u); err != nil {
				return err
			}
		}
	}
	for _, db := range []string{a.OrderDB, a.StockDB} {
		if !literal {
			db = strings.ReplaceAll(db, "_", `\_`) // it would match any character
		}
		if err := grant(ctx, admin, "ALL PRIVILEGES", "`"+db+"`.*", a.Migrator); err != nil {
			return err
		}
	}
	return nil
}

// grantTables grants to the services and the verifier their rights on all tables. In a grant on a table, the database's
// name is never a pattern, so that these hold with and without partial_revokes.
func grantTables(ctx context.Context, admin *sql.DB, a Accounts) error {
	for db, app := range map[string]User{a.OrderDB: a.OrderApp, a.StockDB: a.StockApp} {
		tables, err := mysqldb.All(ctx, admin, mysqldb.One[string],
			"SELECT table_name FROM information_schema.tables WHERE table_schema = ?", db)
		if err != nil {
			return fmt.Errorf("list tables of %s: %w", db, err)
		}
		for _, table := range tables {
			on := fmt.Sprintf("`%s`.`%s`", db, table)
			err := grant(ctx, admin, "SELECT", on, a.Verifier)
			if err == nil && table != versions {
				err = grant(ctx, admin, "SELECT, INSERT, UPDATE", on, app)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func grant(ctx context.Context, admin *sql.DB, rights, on string, to User) error {
	if _, err := admin.ExecContext(ctx, fmt.Sprintf("GRANT %s ON %s TO '%s'@'%%'", rights, on, to.Name)); err != nil {
		return fmt.Errorf("grant on %s to %s: %w", on, to.Name, err)
	}
	return nil
}

// traits reports whether the server can be a member of a group, as MySQL can, and whether it takes the database's name
// in a grant literally, as MySQL does with partial_revokes. MariaDB does not read the comment.
func traits(ctx context.Context, admin *sql.DB) (grouped, literal bool, err error) {
	err = admin.QueryRowContext(ctx, `SELECT COUNT(*) > 0, 0 /*!80016 + @@GLOBAL.partial_revokes */
		FROM information_schema.tables
		WHERE table_schema = 'performance_schema' AND table_name = 'replication_group_members'`).Scan(&grouped, &literal)
	if err != nil {
		return false, false, fmt.Errorf("ask for the server's kind: %w", err)
	}
	return grouped, literal, nil
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
		if _, err := admin.ExecContext(ctx, "DROP USER IF EXISTS ''@"+mysqluser.Quote(host)); err != nil {
			return fmt.Errorf("drop anonymous user at %s: %w", host, err)
		}
	}
	return nil
}
