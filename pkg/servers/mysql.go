package servers

import (
	"cmp"
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

// StartMySQL starts the installed MySQL or MariaDB server, with
// its data in dir. It is as durable as a production primary: row-based binary
// log, sync_binlog=1, innodb_flush_log_at_trx_commit=1.
func StartMySQL(ctx context.Context, dir string, opts ...Option) (*MySQL, error) {
	o, err := newOptions(opts...)
	if err != nil {
		return nil, fmt.Errorf("start mysql: %w", err)
	}
	m, err := startMySQL(ctx, dir, o)
	if err != nil {
		return nil, fmt.Errorf("start mysql: %w", err)
	}
	return m, nil
}

func startMySQL(ctx context.Context, dir string, o options) (*MySQL, error) {
	programs, err := o.mysql()
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(o.addr)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if _, err := os.Stat(data); os.IsNotExist(err) {
		if err := programs.newDataDir(ctx, data); err != nil {
			return nil, fmt.Errorf("make data folder: %w", err)
		}
		if err := freshIdentity(data); err != nil {
			return nil, fmt.Errorf("make data folder: %w", err)
		}
	}
	tmp := filepath.Join(dir, "tmp") // separate, because a starting server deletes the others' temporary tables
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return nil, err
	}
	setup := filepath.Join(dir, "init.sql")
	if err := os.WriteFile(setup, []byte(o.rootAccount()), 0o600); err != nil {
		return nil, err
	}
	settings := "--no-defaults"
	if o.grouped {
		file := filepath.Join(dir, "group.cnf")
		if err := os.WriteFile(file, groupSettings, 0o644); err != nil {
			return nil, err
		}
		settings = "--defaults-file=" + file
	}

	m := AttachMySQLServer(o.addr, "root", rootPassword)
	args := append(programs.serverArgs(settings),
		"--datadir="+data, "--tmpdir="+tmp, "--init-file="+setup, "--pid-file="+filepath.Join(dir, "mysql.pid"),
		"--socket=mysql.sock", // relative to datadir: the path of a socket may have 107 bytes at most
		"--bind-address="+host, "--port="+port, "--skip-name-resolve",
		"--server-id=1", "--log-bin=binlog", "--binlog-format=ROW", "--sync-binlog=1",
		"--innodb-flush-log-at-trx-commit=1",
		"--innodb-buffer-pool-size=512M", "--max-connections=1000",
		"--character-set-server=utf8mb4",
	)
	command := slices.Concat(o.within, []string{programs.server}, args, o.args)
	m.Server, err = Start(ctx, Spec{
		Name:  cmp.Or(o.name, "mysql"),
		Path:  command[0],
		Args:  command[1:],
		Dir:   dir,
		Addr:  o.addr,
		Ready: m.Ping,
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// rootAccount is run at each start, before the server admits clients.
const rootAccount = `CREATE USER IF NOT EXISTS 'root'@'127.0.0.1' IDENTIFIED BY '` + rootPassword + `';
ALTER USER 'root'@'127.0.0.1' IDENTIFIED BY '` + rootPassword + `';
GRANT ALL PRIVILEGES ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;
`

// rootAccount returns the statements that create the administrator's account. A member of a group keeps them out of its
// binary log, so that they are no transaction of the group.
func (o options) rootAccount() string {
	if !o.grouped {
		return rootAccount
	}
	return "SET SESSION sql_log_bin = 0;\n" + strings.ReplaceAll(rootAccount, "127.0.0.1", "%")
}

// mysql returns the server to start: the given one, or the installed one.
func (o options) mysql() (mysqlInstall, error) {
	if o.install != nil {
		return *o.install, nil
	}
	return mysqlPrograms()
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
