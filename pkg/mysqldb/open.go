// Package mysqldb opens MySQL and MariaDB databases as both services need them, and runs transactions whose errors
// report whether anything changed.
//
// Every connection uses READ COMMITTED and waits at most a second for a row. It sets each session variable that affects
// the meaning of a statement, such as autocommit and sql_mode, so that the server's defaults have no effect. The server
// drops a connection whose client is silent for a second, so that a dead or paused process soon loses the rows
// that it holds. With Caution, a batch goes on without the rows that another connection holds.
//
// A DSN may name the members of a MySQL group instead of one server. Cluster finds the primary among them, and drops
// the connections to a former one.
//
// Transact returns nil if the transaction is committed. It returns an error that wraps ErrCommitUnknown if the commit
// was sent and not answered: only another read can show whether it is committed. After any other error nothing changed.
package mysqldb

import (
	"cmp"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	gormmysql "gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// Options are the settings of a database. The zero value of a field means its default.
type Options struct {
	// MaxConns bounds the open connections. Default 32.
	MaxConns int
	// LockWait bounds the wait for a row or a table that another transaction holds, in whole seconds. Default 1 s.
	LockWait time.Duration
	// IdleTimeout is how long the server keeps the connection of a silent client, and the rows that it holds, in whole
	// seconds. A connection that is idle in the pool closes itself after half of it. Default 1 s.
	IdleTimeout time.Duration
	// Metrics, if not nil, registers the statistics of the pool.
	Metrics prometheus.Registerer
	// Wrap, if not nil, wraps the connector of the driver. Tests observe and break statements there.
	Wrap func(driver.Connector) driver.Connector
	// Log, if not nil, gets a record each time another member of a group becomes the primary.
	Log *slog.Logger
	// OpenDB, if not nil, replaces sql.OpenDB, for example to trace statements.
	OpenDB func(driver.Connector) *sql.DB
}

// ioTimeout bounds each read and write on a connection.
const ioTimeout = 10 * time.Second

func (o Options) withDefaults() Options {
	o.MaxConns = cmp.Or(o.MaxConns, 32)
	o.LockWait, o.IdleTimeout = max(o.LockWait, time.Second), max(o.IdleTimeout, time.Second)
	if o.OpenDB == nil {
		o.OpenDB = sql.OpenDB
	}
	return o
}

// Open returns the database of the DSN, which ParseDSN describes, and which may set no timeouts. It connects on first
// use, so that a service can start before its database. In a group it uses the current primary (see Cluster). Callers
// must Close it.
func Open(dsn string, opts Options) (*gorm.DB, error) {
	opts = opts.withDefaults()
	cfg, err := ParseDSN(dsn)
	if err = cmp.Or(err, checkEffect(dsn)); err != nil {
		return nil, err
	}
	cfg.InterpolateParams = true // saves a round trip for each statement
	cfg.ParseTime = true
	cfg.Timeout = 2 * time.Second
	cfg.ReadTimeout, cfg.WriteTimeout = ioTimeout, ioTimeout
	cfg.Logger = &mysql.NopLogger{} // every failure is returned as an error, too
	cfg.RejectReadOnly = true       // a connection to a former primary is of no use
	conns, err := Connector(cfg, opts)
	if err != nil {
		return nil, err
	}
	pool := opts.OpenDB(conns)
	if opts.Metrics != nil {
		if err := opts.Metrics.Register(collectors.NewDBStatsCollector(pool, cfg.DBName)); err != nil {
			return nil, fmt.Errorf("open database: %w", errors.Join(err, pool.Close()))
		}
	}
	pool.SetMaxOpenConns(opts.MaxConns)
	pool.SetMaxIdleConns(opts.MaxConns)
	pool.SetConnMaxIdleTime(opts.IdleTimeout / 2) // also forgets connections that have closed themselves
	db, err := gorm.Open(gormmysql.New(gormmysql.Config{Conn: pool, SkipInitializeWithVersion: true}), &gorm.Config{
		SkipDefaultTransaction: true,
		DisableAutomaticPing:   true,
		Logger:                 logger.Discard, // errors are logged where they are handled
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), pool.Close())
	}
	return db, nil
}

// Close closes the connections.
func Close(db *gorm.DB) error {
	pool, err := db.DB()
	if err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	_ = pool.Close() // an error says that a connection was lost before
	return nil
}

// Conn is the full interface that database/sql looks for in a connection of the MySQL driver. A wrapper of connections
// embeds one, so that the pool finds the same methods as in the driver's.
type Conn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	driver.NamedValueChecker
}

// dsnOptions are the options that a DSN may have: how to reach the server, and how to authenticate.
var dsnOptions = []string{
	"allowCleartextPasswords", "allowFallbackToPlaintext", "allowNativePasswords", "allowOldPasswords",
	"checkConnLiveness", "compress", "connectionAttributes", "interpolateParams", "maxAllowedPacket", "parseTime",
	"readTimeout", "serverPubKey", "timeout", "tls", "writeTimeout",
}

// setByOpen are the options of dsnOptions that Open sets itself. One may be there with the value that it has anyway.
var setByOpen = []string{"interpolateParams=true", "parseTime=true", "readTimeout", "timeout", "writeTimeout"}

// ParseDSN reads a DSN in the driver's form: user:password@tcp(host:port)/database, or
// user:password@group(host:port,host:port,host:port)/database for the members of a group, whose primary is used. It
// refuses every option that could change the meaning of statements or results: clientFoundRows counts unchanged rows as
// changed, sql_mode and other system variables change stored values, loc and charset change how values are read. The
// error never quotes the DSN, which holds the password.
func ParseDSN(dsn string) (*mysql.Config, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil || !strings.Contains(dsn, "/") {
		return nil, errors.New("read DSN: want user:password@tcp(host:port)/database, " +
			"or group(host:port,…) in place of tcp(host:port)")
	}
	if _, err := Addrs(cfg); err != nil {
		return nil, err
	}
	for _, option := range optionsOf(dsn) {
		if name, _, _ := strings.Cut(option, "="); !slices.Contains(dsnOptions, name) {
			return nil, fmt.Errorf("read DSN: option %q could change the meaning of statements or results: "+
				"leave it out (allowed: %s)", name, strings.Join(dsnOptions, ", "))
		}
	}
	return cfg, nil
}

// checkEffect returns an error that names an option whose value Open would replace.
func checkEffect(dsn string) error {
	for _, option := range optionsOf(dsn) {
		name, _, _ := strings.Cut(option, "=")
		fixed := func(set string) bool { return set == name || strings.HasPrefix(set, name+"=") }
		if slices.ContainsFunc(setByOpen, fixed) && !slices.Contains(setByOpen, option) {
			return fmt.Errorf("read DSN: option %q has no effect, as its value is fixed: leave it out", name)
		}
	}
	return nil
}

// optionsOf returns the options of a DSN as name=value.
func optionsOf(dsn string) []string {
	slash := strings.LastIndexByte(dsn, '/') // the database and its options follow, as the driver reads it
	_, options, _ := strings.Cut(dsn[max(slash, 0):], "?")
	return slices.DeleteFunc(strings.Split(options, "&"), func(option string) bool { return option == "" })
}
