package main

import (
	"fmt"
	"time"

	"github.com/caarlos0/env/v11"

	"orderstock/pkg/service"
)

// config is read from the environment.
type config struct {
	service.Settings

	ListenAddr    string `env:"LISTEN_ADDR" envDefault:":8080"`
	MySQLMaxConns int    `env:"MYSQL_MAX_CONNS" envDefault:"32"`

	// StockURLs are the stock services; calls are spread over them.
	StockURLs []string `env:"STOCK_URLS,required,notEmpty"`
	// StockTimeout bounds one try of a call to the stock service.
	StockTimeout time.Duration `env:"STOCK_TIMEOUT" envDefault:"2s"`
	// StockRequests bounds the requests on their way to the stock service that carry deductions; concurrent ones share them. 0: a request for each.
	StockRequests int `env:"STOCK_REQUESTS" envDefault:"4"`
	// StockSpread lets the calls go to all stock services in turn. Else they go to the first that serves, where the lock of the stock can stay; with STOCK_REQUESTS=0 they are spread in any case.
	StockSpread bool `env:"STOCK_SPREAD" envDefault:"false"`

	// ConfirmBudget is how long a client waits for its order's outcome.
	ConfirmBudget time.Duration `env:"CONFIRM_BUDGET" envDefault:"3s"`
	// PendingLimit is the age at which the reconciler takes an order.
	PendingLimit time.Duration `env:"PENDING_LIMIT" envDefault:"5s"`
	// CancelAfter is the age at which the reconciler cancels an order that the stock service has not settled.
	CancelAfter       time.Duration `env:"CANCEL_AFTER" envDefault:"60s"`
	ReconcileInterval time.Duration `env:"RECONCILE_INTERVAL" envDefault:"1s"`
	// ReconcileMaxPause bounds the reconciler's growing pause while the stock service is down, and is how long a replica that gave the lead up stays out.
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
	return c.Check(map[string]bool{
		"STOCK_TIMEOUT": c.StockTimeout > 0, "CONFIRM_BUDGET": c.ConfirmBudget > 0,
		"PENDING_LIMIT": c.PendingLimit >= c.ConfirmBudget, "CANCEL_AFTER": c.CancelAfter > c.PendingLimit,
		"RECONCILE_INTERVAL": c.ReconcileInterval > 0, "RECONCILE_MAX_PAUSE": c.ReconcileMaxPause > 0, "PRICE_TTL": c.PriceTTL > 0,
		"STOCK_REQUESTS": c.StockRequests >= 0, "MAX_IN_FLIGHT": c.MaxInFlight > 0, "MYSQL_MAX_CONNS": c.MySQLMaxConns > 0,
	})
}
