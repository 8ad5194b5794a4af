package books

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-sql-driver/mysql"
	"github.com/lib/pq"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"orderstock/loadtest/judge/shop"
)

// open returns a database by its DSN; a relative path of a file begins in the folder dir. It does not connect. Within
// timeout, a connection is made or fails.
func open(dsn, dir string, timeout time.Duration) (*sql.DB, error) {
	if path, ok := strings.CutPrefix(dsn, shop.SQLite); ok {
		if path = strings.TrimPrefix(path, "//"); !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		file := url.URL{Scheme: "file", Path: path, RawQuery: "mode=rw&_pragma=busy_timeout(5000)"}
		return sql.Open("sqlite", file.String())
	}
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		cfg, err := pq.NewConfig(dsn)
		if err != nil {
			return nil, fmt.Errorf("dsn: %w", err)
		}
		if !strings.Contains(dsn, "sslmode=") && os.Getenv("PGSSLMODE") == "" {
			cfg.SSLMode = pq.SSLModePrefer // the default of PostgreSQL's own programs
		}
		if cfg.ConnectTimeout == 0 {
			cfg.ConnectTimeout = timeout // the driver heeds a context only until the server has accepted
		}
		connector, err := pq.NewConnectorConfig(cfg)
		if err != nil {
			return nil, fmt.Errorf("dsn: %w", err)
		}
		return sql.OpenDB(connector), nil
	}
	cfg, err := mysqlConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("dsn: %w", err)
	}
	cfg.MultiStatements, cfg.ParseTime = true, false
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("dsn: %w", err)
	}
	return sql.OpenDB(connector), nil
}

// mysqlConfig reads the driver's form, or a URL.
func mysqlConfig(dsn string) (*mysql.Config, error) {
	if !strings.Contains(dsn, "://") {
		return mysql.ParseDSN(dsn)
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	cfg := mysql.NewConfig()
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.Net, cfg.Addr = "tcp", net.JoinHostPort(u.Hostname(), or(u.Port(), "3306"))
	cfg.DBName = strings.TrimPrefix(u.Path, "/")
	if socket := u.Query().Get("socket"); socket != "" {
		cfg.Net, cfg.Addr = "unix", socket
	}
	return cfg, nil
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// text returns a value of a database as text. Bytes that are no text are in hex.
func text(cell any) string {
	switch cell := cell.(type) {
	case nil:
		return shop.Null
	case []byte:
		return bytesText(cell)
	case string:
		return bytesText([]byte(cell))
	case time.Time:
		return cell.Format(time.RFC3339Nano)
	case float64:
		return strconv.FormatFloat(cell, 'f', -1, 64)
	}
	return fmt.Sprint(cell)
}

func bytesText(cell []byte) string {
	readable := utf8.Valid(cell)
	for _, r := range string(cell) {
		readable = readable && (unicode.IsPrint(r) || unicode.IsSpace(r))
	}
	if !readable {
		return hex.EncodeToString(cell)
	}
	return string(cell)
}
