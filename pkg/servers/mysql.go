package servers

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"orderstock/pkg/mysqldb"
)

// rootPassword is the same for all servers started here, which listen on 127.0.0.1 alone.
const rootPassword = "orderstock"

// MySQL is a MySQL or MariaDB server.
type MySQL struct {
	*Server
	admin *mysql.Config
}

// StartMySQL starts the installed MySQL or MariaDB server, or the one of the options. It is as durable as a production
// primary: row-based binary log, sync_binlog=1, innodb_flush_log_at_trx_commit=1.
func StartMySQL(ctx context.Context, o Options) (*MySQL, error) {
	s, err := o.start(ctx, "mysql", Options.mysql)
	if err != nil {
		return nil, err
	}
	m := AttachMySQLServer(s.Addr(), "root", rootPassword)
	m.Server = s
	return m, nil
}

// mysql makes the server's files, and returns how to run it.
func (o Options) mysql(ctx context.Context) (s Spec, err error) {
	if o.Program == nil {
		if o.Program, err = installedMySQL(); err != nil {
			return s, err
		}
	}
	host, port, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return s, err
	}
	data := filepath.Join(o.Dir, "data")
	if _, err := os.Stat(data); os.IsNotExist(err) {
		if err := o.Program.newDataDir(ctx, data); err != nil {
			return s, fmt.Errorf("make data folder: %w", err)
		}
		if err := freshIdentity(data); err != nil {
			return s, fmt.Errorf("make data folder: %w", err)
		}
	}
	tmp := filepath.Join(o.Dir, "tmp") // separate, because a starting server deletes the others' temporary tables
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return s, err
	}
	setup := filepath.Join(o.Dir, "init.sql")
	if err := os.WriteFile(setup, []byte(o.rootAccount()), 0o600); err != nil {
		return s, err
	}
	settings := "--no-defaults"
	if o.grouped {
		file := filepath.Join(o.Dir, "group.cnf")
		if err := os.WriteFile(file, groupSettings, 0o644); err != nil {
			return s, err
		}
		settings = "--defaults-file=" + file
	}

	args := append(o.Program.serverArgs(settings),
		"--datadir="+data, "--tmpdir="+tmp, "--init-file="+setup, "--pid-file="+filepath.Join(o.Dir, "mysql.pid"),
		"--socket=mysql.sock", // relative to datadir: the path of a socket may have 107 bytes at most
		"--bind-address="+host, "--port="+port, "--skip-name-resolve",
		"--server-id=1", "--log-bin=binlog", "--binlog-format=ROW", "--sync-binlog=1",
		"--innodb-flush-log-at-trx-commit=1",
		"--innodb-buffer-pool-size=512M", "--max-connections=1000",
		"--character-set-server=utf8mb4",
	)
	command := slices.Concat(o.Within, []string{o.Program.server}, args, o.Args)
	ready := AttachMySQLServer(o.Addr, "root", rootPassword).Ping
	return Spec{Path: command[0], Args: command[1:], Ready: ready}, nil
}

// rootAccount is run at each start, before the server admits clients.
const rootAccount = `CREATE USER IF NOT EXISTS 'root'@'127.0.0.1' IDENTIFIED BY '` + rootPassword + `';
ALTER USER 'root'@'127.0.0.1' IDENTIFIED BY '` + rootPassword + `';
GRANT ALL PRIVILEGES ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;
`

// rootAccount returns the statements that create the administrator's account. A member of a group keeps them out of its
// binary log, so that they are no transaction of the group.
func (o Options) rootAccount() string {
	if !o.grouped {
		return rootAccount
	}
	return "SET SESSION sql_log_bin = 0;\n" + strings.ReplaceAll(rootAccount, "127.0.0.1", "%")
}

// AttachMySQL returns a server that runs elsewhere. dsn is the administrator's, in the form of go-sql-driver/mysql:
// "root:pw@tcp(host:port)/".
func AttachMySQL(dsn string) (*MySQL, error) {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("parse MySQL address: %w", err)
	}
	return AttachMySQLServer(c.Addr, c.User, c.Passwd), nil
}

// AttachMySQLServer returns a server that runs elsewhere at addr.
func AttachMySQLServer(addr, adminUser, adminPassword string) *MySQL {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr = adminUser, adminPassword, "tcp", addr
	c.ParseTime = true
	c.Logger = silent{} // refused connections are expected while a server starts
	return &MySQL{Server: attach("mysql", addr), admin: c}
}

type silent struct{}

func (silent) Print(...any) {}

// AdminDSN returns the administrator's DSN without a database: "root:pw@tcp(127.0.0.1:port)/?…".
func (m *MySQL) AdminDSN() string { return m.admin.FormatDSN() }

// DSN returns the DSN of a user for a database.
func (m *MySQL) DSN(user, password, database string) string {
	c := m.admin.Clone()
	c.User, c.Passwd, c.DBName = user, password, database
	return c.FormatDSN()
}

// AdminDSNFor returns the administrator's DSN for a database.
func (m *MySQL) AdminDSNFor(database string) string {
	return m.DSN(m.admin.User, m.admin.Passwd, database)
}

// Ping returns nil if the server answers the administrator.
func (m *MySQL) Ping(ctx context.Context) error {
	return m.withAdmin(func(db *sql.DB) error { return db.PingContext(ctx) })
}

// Exec runs statements as the administrator, one after the other, each on any connection.
func (m *MySQL) Exec(ctx context.Context, statements ...string) error {
	return m.withAdmin(func(db *sql.DB) error {
		for _, s := range statements {
			if _, err := db.ExecContext(ctx, s); err != nil {
				return fmt.Errorf("run %q: %w", s, err)
			}
		}
		return nil
	})
}

// QueryRow runs a query as the administrator, and scans its only row into dest.
func (m *MySQL) QueryRow(ctx context.Context, query string, dest ...any) error {
	err := m.withAdmin(func(db *sql.DB) error { return db.QueryRowContext(ctx, query).Scan(dest...) })
	if err != nil {
		return fmt.Errorf("ask MySQL %q: %w", query, err)
	}
	return nil
}

// Version returns the server's own version: "10.11.14-MariaDB-…", "9.7.0".
func (m *MySQL) Version(ctx context.Context) (version string, err error) {
	err = m.QueryRow(ctx, "SELECT VERSION()", &version)
	return strings.TrimSpace(version), err
}

func (m *MySQL) withAdmin(do func(*sql.DB) error) error {
	connector, err := mysqldb.Connector(m.admin, mysqldb.Options{LockWait: time.Minute, IdleTimeout: time.Hour})
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	return do(db)
}
