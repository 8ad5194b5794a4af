package main

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/caarlos0/env/v11"
)

// config is read from the environment.
type config struct {
	ListenAddr string `env:"LISTEN_ADDR" envDefault:":8080"`
	// OpsAddr is where metrics and profiles are served; empty: nowhere.
	OpsAddr         string        `env:"OPS_ADDR"`
	LogLevel        slog.Level    `env:"LOG_LEVEL" envDefault:"INFO"`
	ShutdownTimeout time.Duration `env:"SHUTDOWN_TIMEOUT" envDefault:"20s"`

	MySQLDSN      secret `env:"MYSQL_DSN,required,notEmpty"`
	MySQLMaxConns int    `env:"MYSQL_MAX_CONNS" envDefault:"32"`
	RedisAddr     string `env:"REDIS_ADDR,required,notEmpty"`

	ZooKeeperAddrs []string      `env:"ZOOKEEPER_ADDRS,required,notEmpty"`
	ZooKeeperRoot  string        `env:"ZOOKEEPER_ROOT" envDefault:"/orderstock"`
	SessionTimeout time.Duration `env:"ZOOKEEPER_SESSION_TIMEOUT" envDefault:"10s"`

	// StockURLs are the stock services; calls are spread over them.
	StockURLs []string `env:"STOCK_URLS,required,notEmpty"`
	// Token is what the stock services want to see.
	Token secret `env:"SERVICE_TOKEN,required,notEmpty"`
	// StockTimeout bounds one try of a call to the stock service.
	StockTimeout time.Duration `env:"STOCK_TIMEOUT" envDefault:"2s"`
	// StockRequests bounds the requests on their way to the stock service that carry deductions; concurrent ones share them. 0: a request for each.
	StockRequests int `env:"STOCK_REQUESTS" envDefault:"4"`

	// ConfirmBudget is how long a client waits for its order's outcome.
	ConfirmBudget time.Duration `env:"CONFIRM_BUDGET" envDefault:"3s"`
	// PendingLimit is the age at which the reconciler takes an order.
	PendingLimit time.Duration `env:"PENDING_LIMIT" envDefault:"5s"`
	// CancelAfter is the age at which the reconciler cancels an order that the stock service has not settled.
	CancelAfter       time.Duration `env:"CANCEL_AFTER" envDefault:"60s"`
	ReconcileInterval time.Duration `env:"RECONCILE_INTERVAL" envDefault:"1s"`
	// ReconcileMaxPause bounds the reconciler's growing pause while the stock service is down.
	ReconcileMaxPause time.Duration `env:"RECONCILE_MAX_PAUSE" envDefault:"10s"`
	// PriceTTL is how long a price may be used after it was asked for.
	PriceTTL time.Duration `env:"PRICE_TTL" envDefault:"2s"`
	// MaxInFlight bounds the orders that are placed at the same time; more are answered 503 at once.
	MaxInFlight int64 `env:"MAX_IN_FLIGHT" envDefault:"2048"`
}

func readConfig() (config, error) {
	cfg, err := env.ParseAs[config]()
	if err != nil {
		return config{}, fmt.Errorf("read configuration: %w", err)
	}
	return cfg, cfg.validate()
}

func (c config) validate() error {
	var errs []error
	for name, large := range map[string]bool{
		"SHUTDOWN_TIMEOUT": c.ShutdownTimeout > 0, "ZOOKEEPER_SESSION_TIMEOUT": c.SessionTimeout >= time.Second,
		"STOCK_TIMEOUT": c.StockTimeout > 0, "CONFIRM_BUDGET": c.ConfirmBudget > 0,
		"PENDING_LIMIT": c.PendingLimit >= c.ConfirmBudget, "CANCEL_AFTER": c.CancelAfter > c.PendingLimit,
		"RECONCILE_INTERVAL": c.ReconcileInterval > 0, "RECONCILE_MAX_PAUSE": c.ReconcileMaxPause > 0, "PRICE_TTL": c.PriceTTL > 0,
		"STOCK_REQUESTS": c.StockRequests >= 0, "MAX_IN_FLIGHT": c.MaxInFlight > 0, "MYSQL_MAX_CONNS": c.MySQLMaxConns > 0,
	} {
		if !large {
			errs = append(errs, fmt.Errorf("%s is too small", name))
		}
	}
	if c.ZooKeeperRoot == "" || c.ZooKeeperRoot[0] != '/' {
		errs = append(errs, errors.New("ZOOKEEPER_ROOT has to begin with /"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	return nil
}

// secret is a string that prints as ***.
type secret string

func (secret) String() string { return "***" }

// LogValue keeps the secret out of structured logs.
func (secret) LogValue() slog.Value { return slog.StringValue("***") }
