package main

import (
	_ "embed"
	"errors"
	"net/netip"
	"time"

	"orderstock/order-service/order"
	"orderstock/order-service/orderhttp"
	"orderstock/pkg/config"
	"orderstock/pkg/service"
)

// settings are read from the environment. Their comments become the text of the help and the documents.
type settings struct {
	service.Settings

	// ListenAddr is the address to listen on.
	ListenAddr string `env:"LISTEN_ADDR" envDefault:":8080"`
	// MySQLMaxConns bounds the connections to the database.
	MySQLMaxConns int `env:"MYSQL_MAX_CONNS" envDefault:"32"`

	// StockURLs are the addresses of the stock services, several by comma; empty: the services announced in ZooKeeper.
	StockURLs []string `env:"STOCK_URLS"`
	// StockServerName is the name in the stock services' certificates; empty: the host of their address. With it, plain
	// HTTP is not followed.
	StockServerName string `env:"STOCK_SERVER_NAME"`
	// StockTimeout bounds one try of a call to the stock service.
	StockTimeout time.Duration `env:"STOCK_TIMEOUT" envDefault:"2s"`

	// IdempotencyKey is optional, or required: an order needs an Idempotency-Key.
	IdempotencyKey string `env:"IDEMPOTENCY_KEY" envDefault:"optional"`
	// RateLimitOrders is the orders that a client may send, such as 100-S, 1000-M or 10000-H; empty: no limit.
	RateLimitOrders orderhttp.Rate `env:"RATE_LIMIT_ORDERS"`
	// RateLimitReads is the reads that a client may send, like RATE_LIMIT_ORDERS.
	RateLimitReads orderhttp.Rate `env:"RATE_LIMIT_READS"`
	// TrustedProxies are the networks whose X-Forwarded-For is believed, such as 10.0.0.0/8, several by comma. Their
	// requests without it are not limited, and may ask for a trace (traceparent).
	TrustedProxies []netip.Prefix `env:"TRUSTED_PROXIES"`
	order.Config
	// ConsoleURL is the console's address, without its token, for the answer to GET /.
	ConsoleURL string `env:"CONSOLE_URL"`
}

const keyOptional, keyRequired = "optional", "required"

// environment is the text of the settings for the help, made by "make readme".
//
//go:embed environment.txt
var environment string

// Check returns an error that names the first invalid setting, or nil.
func (s settings) Check() error {
	budget, pending := config.Var("CONFIRM_BUDGET", s.ConfirmBudget), config.Var("PENDING_LIMIT", s.PendingLimit)
	var key error
	if s.IdempotencyKey != keyOptional && s.IdempotencyKey != keyRequired {
		key = errors.New(config.Var("IDEMPOTENCY_KEY", s.IdempotencyKey).String() + " must be optional or required")
	}
	return errors.Join(
		key,
		s.Settings.Check(),
		config.CheckListen("LISTEN_ADDR", s.ListenAddr),
		config.CheckBases("STOCK_URLS", s.StockURLs...),
		config.CheckURL("CONSOLE_URL", s.ConsoleURL),
		config.Var("MYSQL_MAX_CONNS", s.MySQLMaxConns).Positive(),
		config.Var("STOCK_TIMEOUT", s.StockTimeout).Positive(),
		budget.Positive(),
		pending.NotBelow(budget),
		config.Var("CANCEL_AFTER", s.CancelAfter).Above(pending),
		config.Var("RECONCILE_INTERVAL", s.ReconcileInterval).Positive(),
		config.Var("RECONCILE_MAX_PAUSE", s.ReconcileMaxPause).Positive(),
		config.Var("PRICE_TTL", s.PriceTTL).Positive(),
		config.Var("MAX_IN_FLIGHT", s.MaxInFlight).Positive(),
	)
}
