package mysqldb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
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
	// seconds. Default 1 s.
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
	if o.MaxConns <= 0 {
		o.MaxConns = 32
	}
	if o.LockWait < time.Second {
		o.LockWait = time.Second
	}
	if o.IdleTimeout < time.Second {
		o.IdleTimeout = time.Second
	}
	if o.OpenDB == nil {
		o.OpenDB = sql.OpenDB
	}
	return o
}

// Open returns the database of the DSN, which ParseDSN describes, and which may set no timeouts. It connects on first
// use, so that a service can start before its database. In a group it uses the current primary (see Group). Callers
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
	pool.SetConnMaxIdleTime(opts.IdleTimeout / 2) // before the server drops it
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
	return pool.Close()
}

// Ping asks the server for an answer.
func Ping(ctx context.Context, db *gorm.DB) error {
	pool, err := db.DB()
	if err != nil {
		return fmt.Errorf("ping database: %w", err)
	}
	return pool.PingContext(ctx)
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
