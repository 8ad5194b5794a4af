// Package service opens what both services use: traces, metrics, MySQL, Redis and the way to ZooKeeper.
package service

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"orderstock/pkg/command"
	"orderstock/pkg/coordination"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/redisdb"
	"orderstock/pkg/tracing"
)

// Options configure Open. All but Wrap and Steps are required.
type Options struct {
	// Name is the service's name in its log and its traces.
	Name     string
	Settings Settings
	// MaxConns bounds the connections to the database.
	MaxConns int
	// Wrap, if not nil, stands between the service and its database.
	Wrap func(driver.Connector) driver.Connector
	// Steps names statements in traces by their beginnings.
	Steps map[string]string
}

// Base is what both services use. Its fields are safe for concurrent use.
type Base struct {
	Traces *tracing.Exporter
	// TLS is nil if the service speaks plain HTTP.
	TLS *tls.Config
	// Metrics holds all metrics. Named registers there, with the project's prefix.
	Metrics *prometheus.Registry
	Named   prometheus.Registerer
	DB      *gorm.DB
	Flags   *redisdb.Flags
	// ZooKeeper configures sessions.
	ZooKeeper coordination.Config
	Log       *slog.Logger

	settings Settings
}

// Open sets up the process of a service, and opens its base. The process keeps its memory below GOMEMLIMIT or, if that
// is not set, below nine tenths of its cgroup's limit. Its log becomes slog's default. The servers are reached on first
// use, so that a service can start before them. The error is of the settings. Callers must Close the base.
func Open(ctx context.Context, o Options) (*Base, error) {
	log := begin(o.Name, o.Settings)
	secure, err := o.Settings.TLS()
	if err != nil {
		return nil, err
	}
	traces, err := tracing.Start(ctx, o.Name, o.Settings.Exports, log)
	if err != nil {
		return nil, err
	}
	metrics := prometheus.NewRegistry()
	named := prometheus.WrapRegistererWithPrefix("orderstock_", metrics) // except the libraries' own
	redis.SetLogger(redisLog{log})
	named.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "log_lines_dropped_total", Help: "Lines dropped because nothing read the log.",
	}, func() float64 { return float64(command.Stderr().Dropped()) }))
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	db, err := mysqldb.Open(string(o.Settings.MySQLDSN), mysqldb.Options{
		MaxConns: o.MaxConns, Metrics: metrics, Wrap: o.Wrap, Log: log, OpenDB: traces.OpenDB(o.Steps),
	})
	if err != nil {
		traces.Close(ctx)
		return nil, err
	}
	flags := redisdb.OpenFlags(o.Settings.Redis(), log)
	if err := flags.Instrument(traces.Redis); err != nil {
		traces.Close(ctx)
		return nil, errors.Join(err, flags.Close(), mysqldb.Close(db))
	}
	flags.Register(named)
	zookeeper := o.Settings.ZooKeeper()
	zookeeper.Metrics, zookeeper.Log = named, log
	return &Base{
		Traces: traces, TLS: secure, Metrics: metrics, Named: named, DB: db, Flags: flags, ZooKeeper: zookeeper,
		Log: log, settings: o.Settings,
	}, nil
}

// Serve serves h as httpapi.Serve does, with the base's certificate, metrics and time to stop, which need not be in
// cfg. Requests that trusted accepts may ask for a trace.
func (b *Base) Serve(
	ctx context.Context, cfg httpapi.ServerConfig, h http.Handler, trusted func(*http.Request) bool,
) error {
	cfg.TLS, cfg.OpsAddr, cfg.Metrics = b.TLS, b.settings.OpsAddr, b.Metrics
	cfg.ShutdownDelay, cfg.ShutdownTimeout = b.settings.ShutdownDelay, b.settings.ShutdownTimeout
	return httpapi.Serve(ctx, cfg, b.Traces.Handler(h, trusted), b.Log)
}

// Close closes the connections and sends the last traces. Nothing may use the base any more.
func (b *Base) Close(ctx context.Context) error {
	defer b.Traces.Close(ctx)
	return errors.Join(b.Flags.Close(), mysqldb.Close(b.DB))
}

// redisLog passes the messages of the Redis client to the service's log: its own logger waits for the reader of
// standard error.
type redisLog struct{ log *slog.Logger }

func (l redisLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.InfoContext(ctx, "redis", "message", fmt.Sprintf(format, v...))
}
