package main

import (
	"cmp"
	"errors"
	"path/filepath"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
	"orderstock/pkg/config"
	"orderstock/pkg/redisdb"
	"orderstock/stock-service/deduct"
)

// surroundings locate the services and databases. They come from the environment; the addresses may also be given as
// flags.
type surroundings struct {
	// OrderURLs are the order services, several by comma.
	OrderURLs  []string `env:"ORDER_URLS" envDefault:"http://127.0.0.1:8080" flag:"url" help:"address of an order service; several are used in turn"`
	StockURLs  []string `env:"STOCK_URLS" envDefault:"http://127.0.0.1:8081" flag:"stock-url" help:"address of a stock service; several are used in turn"`
	StockToken string   `env:"SERVICE_TOKEN"`
	// CancelAfter is the setting of the order services; the verdict needs it to judge expired orders.
	CancelAfter time.Duration `env:"CANCEL_AFTER" envDefault:"60s" flag:"cancel-after" help:"CANCEL_AFTER of the order services: none of the orders may expire before"`
	// PriceTTL is the setting of the order services; the verdict needs it to judge prices that change.
	PriceTTL time.Duration `env:"PRICE_TTL" envDefault:"2s" flag:"price-ttl" help:"PRICE_TTL of the order services: for so long they may use a price that has changed"`
	// ConfirmBudget is the setting of the order services; with a short one, an order may rightly be pending at first.
	ConfirmBudget time.Duration `env:"CONFIRM_BUDGET" envDefault:"3s" flag:"confirm-budget" help:"CONFIRM_BUDGET of the order services: after so long an order may be pending"`
	// RateLimitOrders and RateLimitReads are settings of the order services. With one of them, 429 is no violation.
	RateLimitOrders string `env:"RATE_LIMIT_ORDERS"`
	RateLimitReads  string `env:"RATE_LIMIT_READS"`
	// Strategy is the setting of the stock services; some strategies kept for comparison have an allowance.
	Strategy string `env:"STOCK_STRATEGY" envDefault:"" flag:"strategy" help:"STOCK_STRATEGY of the stock services: {strategies} (default {strategy}); some may leave calls without an end"`
	// OrderDSN is the order database, as the user verifier.
	OrderDSN string `env:"VERIFY_ORDER_DSN"`
	// StockDSN is the stock database, as the user verifier.
	StockDSN string `env:"VERIFY_STOCK_DSN"`
	// ZooKeeperAddrs are the ZooKeeper servers, host:port, several by comma; the console shows the lock's queue there.
	ZooKeeperAddrs []string `env:"ZOOKEEPER_ADDRS"`
	// ZooKeeperRoot is the node that all nodes of the project are under.
	ZooKeeperRoot string `env:"ZOOKEEPER_ROOT" envDefault:"/orderstock"`
	// ZooKeeperAuth is the user:password of the console for reading the lock's queue.
	ZooKeeperAuth string `env:"ZOOKEEPER_AUTH"`
	// StockPartitions is the setting of the stock services; the console needs it to find the lock's queue.
	StockPartitions int `env:"STOCK_PARTITIONS"`
	redisdb.Location
	// ConsoleToken opens the console's page if it is not given as a flag.
	ConsoleToken string `env:"CONSOLE_TOKEN"`
}

// Check returns an error that names an unknown strategy, a token that cannot be sent, or an address that is none. Each
// command checks its own settings.
func (s surroundings) Check() error {
	return errors.Join(
		checkStrategy(s.Strategy),
		config.CheckToken("SERVICE_TOKEN", config.Secret(s.StockToken)),
		config.CheckToken("CONSOLE_TOKEN", config.Secret(s.ConsoleToken)),
		config.CheckBases("ORDER_URLS", s.OrderURLs...), config.CheckBases("STOCK_URLS", s.StockURLs...),
	)
}

// checkStrategy returns an error for an unknown strategy. The name "" stands for the default.
func checkStrategy(name string) error {
	_, err := deduct.Find(cmp.Or(name, deduct.Default))
	return err
}

func readSurroundings() (surroundings, error) { return config.Read[surroundings]() }

func (s surroundings) target() fire.Target {
	return fire.Target{
		OrderURLs: s.OrderURLs, StockURLs: s.StockURLs, StockToken: s.StockToken, CancelAfter: s.CancelAfter,
		PriceTTL: s.PriceTTL, StepLimit: s.ConfirmBudget, Limited: s.RateLimitOrders+s.RateLimitReads != "",
		Strategy: s.Strategy,
	}
}

func (s surroundings) databases() verify.Databases {
	return verify.Databases{OrderDSN: s.OrderDSN, StockDSN: s.StockDSN, ZooKeeperAddrs: s.ZooKeeperAddrs}
}

// output configures the results: their folder and format.
type output struct {
	Out  string `flag:"out" default:"out" help:"folder for verdict.json and history.jsonl; or the verdict's file, if it ends in .json"`
	Keep string `flag:"history" help:"file for every call with its times and its answer (default history.jsonl next to the verdict)"`
	All  bool   `flag:"all" help:"print every invariant, not only the broken ones"`
	asJSON
}

func (o *output) verdict() string {
	if filepath.Ext(o.Out) == ".json" {
		return o.Out
	}
	return filepath.Join(o.Out, "verdict.json")
}

// clear removes the files of an earlier run.
func (o *output) clear() error { return history.Clear(o.verdict(), o.history()) }

func (o *output) history() string {
	if o.Keep != "" {
		return o.Keep
	}
	return filepath.Join(filepath.Dir(o.verdict()), "history.jsonl")
}
