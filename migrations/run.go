package migrations

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/retry"
)

// Config names the server and the accounts for Run, ReadStatus and Prune.
type Config struct {
	// AdminDSN connects as a user that may create databases and users, in the
	// driver's form: root:secret@tcp(127.0.0.1:3306)/ or, for a group,
	// root:secret@group(a:3306,b:3306,c:3306)/
	AdminDSN string
	Accounts Accounts
	// Wait bounds the wait of Run for a server that does not answer yet. Default 60 s.
	Wait time.Duration
}

// Run waits for the server, creates the databases and the users or sets their passwords, migrates both schemas to the
// newest version as the migrator, and grants the users their rights. It may be called again, also by several processes
// at once. A password that is right is not set again. It works on MySQL from 8.0 on and on MariaDB.
func Run(ctx context.Context, cfg Config) (err error) {
	if err := cfg.Accounts.validate(); err != nil {
		return fmt.Errorf("accounts: %w", err)
	}
	server, connector, err := connect(cfg.AdminDSN, nil, "")
	if err != nil {
		return err
	}
	admin := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, admin.Close()) }()
	if err := await(ctx, admin, cfg.Wait); err != nil {
		return err
	}
	if group, ok := connector.(*mysqldb.Cluster); ok {
		server.Net, server.Addr = "tcp", group.Primary()
	}
	if err := locked(ctx, admin, "bootstrap", func(ctx context.Context) error {
		return bootstrap(ctx, admin, server, cfg.Accounts)
	}); err != nil {
		return err
	}
	if err := cfg.each(func(db *sql.DB, which string) error { return Up(ctx, db, which) }); err != nil {
		return err
	}
	return locked(ctx, admin, "bootstrap", func(ctx context.Context) error {
		return grantTables(ctx, admin, cfg.Accounts)
	})
}

// Status is the version of one schema in its database.
type Status struct {
	Schema   string
	Database string
	// Current is 0 before the first migration.
	Current, Newest int64
}

// ReadStatus returns the version of both schemas, read as the migrator.
func ReadStatus(ctx context.Context, cfg Config) ([]Status, error) {
	var all []Status
	err := cfg.each(func(db *sql.DB, which string) error {
		current, newest, err := Version(ctx, db, which)
		if err != nil {
			return err
		}
		all = append(all, Status{which, cfg.database(which), current, newest})
		return nil
	})
	return all, err
}

func (cfg Config) database(which string) string {
	if which == Stock {
		return cfg.Accounts.StockDB
	}
	return cfg.Accounts.OrderDB
}

// each calls fn with the migrator's connection to each of the two databases.
func (cfg Config) each(fn func(db *sql.DB, which string) error) error {
	for _, which := range []string{Order, Stock} {
		db, err := open(cfg.AdminDSN, &cfg.Accounts.Migrator, cfg.database(which))
		if err != nil {
			return err
		}
		if err := errors.Join(fn(db, which), db.Close()); err != nil {
			return err
		}
	}
	return nil
}

const (
	// rowWait bounds the wait for a row or a table. It is longer than the server keeps the rows of a silent service.
	rowWait = 15 * time.Second
	// idleTimeout bounds how long the server keeps the connection of a silent process, with its rows and its lock.
	idleTimeout = 10 * time.Second
)

// open returns a pool of connections to a database on the server of dsn. If as is not nil, it replaces the user of dsn.
func open(dsn string, as *User, database string) (*sql.DB, error) {
	_, connector, err := connect(dsn, as, database)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func connect(dsn string, as *User, database string) (*mysql.Config, driver.Connector, error) {
	cfg, err := mysqldb.ParseDSN(dsn)
	if err != nil {
		return nil, nil, fmt.Errorf("administrator's account: %w", err)
	}
	cfg.DBName, cfg.ParseTime = database, true
	if as != nil {
		cfg.User, cfg.Passwd = as.Name, as.Password
	}
	connector, err := mysqldb.Connector(cfg, mysqldb.Options{LockWait: rowWait, IdleTimeout: idleTimeout})
	return cfg, connector, err
}

// await waits until the server answers, for at most limit; if that is not positive, for 60 s. It returns an error at
// once if the server refuses the password.
func await(ctx context.Context, db *sql.DB, limit time.Duration) error {
	if limit <= 0 {
		limit = 60 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	soon := retry.Policy{First: 250 * time.Millisecond, Max: 250 * time.Millisecond, InTime: true}
	err := retry.Run(ctx, soon, func() error {
		err := db.PingContext(ctx)
		var refused *mysql.MySQLError
		if errors.As(err, &refused) && refused.Number == 1045 { // access denied
			return retry.Stop(fmt.Errorf("%w: the server keeps the password of its data; give that one, "+
				"or begin without data, as after \"docker-compose down -v\"", err))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("wait for the database server: %w", err)
	}
	return nil
}
