// Package mysqluser makes the users of a MySQL or MariaDB server.
package mysqluser

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// numUserExists is the server's error for a user that cannot be made, mostly because it exists.
const numUserExists = 1396

// User is a user of a server, at any host.
type User struct {
	Name     string
	Password string
	// Requires demands something of each connection, such as "SSL". Empty: nothing.
	Requires string
}

// Ensure makes the user if there is none, and sets the password if the server does not accept it. It does not set the
// right password again, which a server that remembers passwords would refuse. admin must be at the server that server
// names, which is no group. Of server, the way to reach it counts, not the user. The error never holds the password.
func (u User) Ensure(ctx context.Context, admin Execer, server *mysql.Config) error {
	admitted, err := u.admitted(ctx, server)
	if err != nil {
		return fmt.Errorf("log in as %s: %w", u.Name, err)
	}
	if admitted {
		return nil
	}
	who := Quote(u.Name) + "@'%' IDENTIFIED BY " + Quote(u.Password)
	if u.Requires != "" {
		who += " REQUIRE " + u.Requires
	}
	_, err = admin.ExecContext(ctx, "CREATE USER "+who)
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[*mysql.MySQLError](err); !ok || refused.Number != numUserExists {
		return fmt.Errorf("make user %s: %w", u.Name, err)
	}
	if _, err := admin.ExecContext(ctx, "ALTER USER "+who); err != nil {
		return fmt.Errorf("set password of %s: %w", u.Name, err)
	}
	return nil
}

// admitted reports whether the server accepts the user and its password. The error is the one of a server that does
// not answer.
func (u User) admitted(ctx context.Context, server *mysql.Config) (bool, error) {
	cfg := server.Clone()
	cfg.User, cfg.Passwd, cfg.DBName, cfg.Logger = u.Name, u.Password, "", &mysql.NopLogger{}
	if cfg.TLS == nil {
		cfg.TLSConfig = "preferred" // the user may require it
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return false, err
	}
	conn, err := connector.Connect(ctx)
	if err == nil {
		_ = conn.Close() // it was only a try
		return true, nil
	}
	if _, refused := errors.AsType[*mysql.MySQLError](err); refused {
		return false, nil
	}
	return false, err
}

// Execer is a *sql.DB, a *sql.Conn or a *sql.Tx.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Quote returns s as a string literal, for statements that take no placeholders, on connections of mysqldb.Connector
// or of a server in its default mode: backslashes escape.
func Quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
}
