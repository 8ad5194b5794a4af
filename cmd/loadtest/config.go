package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
	"orderstock/pkg/config"
)

// surroundings locate the services and databases. They come from the environment; the addresses may also be given as
// flags.
type surroundings struct {
	OrderURLs  []string `env:"ORDER_URLS" envDefault:"http://127.0.0.1:8080"`
	StockURLs  []string `env:"STOCK_URLS" envDefault:"http://127.0.0.1:8081"`
	StockToken string   `env:"SERVICE_TOKEN"`
	// CancelAfter is the setting of the order services; the verdict needs it to judge expired orders.
	CancelAfter time.Duration `env:"CANCEL_AFTER" envDefault:"60s"`
	// PriceTTL is the setting of the order services; the verdict needs it to judge prices that change.
	PriceTTL time.Duration `env:"PRICE_TTL" envDefault:"2s"`
	// Strategy is the setting of the stock services; some strategies kept for comparison have an allowance.
	Strategy string `env:"STOCK_STRATEGY"`
	OrderDSN string `env:"VERIFY_ORDER_DSN"`
	StockDSN string `env:"VERIFY_STOCK_DSN"`
	// ZooKeeperAddrs are the ZooKeeper servers, host:port, several by comma; the console shows the lock's queue there.
	ZooKeeperAddrs []string `env:"ZOOKEEPER_ADDRS"`
	// ZooKeeperRoot is the node that all nodes of the project are under.
	ZooKeeperRoot string `env:"ZOOKEEPER_ROOT" envDefault:"/orderstock"`
	// ZooKeeperAuth is the user:password of the console for reading the lock's queue.
	ZooKeeperAuth string `env:"ZOOKEEPER_AUTH"`
	// StockPartitions is the setting of the stock services; the console needs it to find the lock's queue.
	StockPartitions int `env:"STOCK_PARTITIONS"`
	config.RedisServer
	// ConsoleToken opens the console's page if it is not given as a flag.
	ConsoleToken string `env:"CONSOLE_TOKEN"`
}

// Check returns an error that names a token that cannot be sent, or an address that is none. Each command checks its
// own settings.
func (s surroundings) Check() error {
	return errors.Join(
		config.CheckToken("SERVICE_TOKEN", config.Secret(s.StockToken)),
		config.CheckToken("CONSOLE_TOKEN", config.Secret(s.ConsoleToken)),
		config.CheckBases("ORDER_URLS", s.OrderURLs...), config.CheckBases("STOCK_URLS", s.StockURLs...),
	)
}

func readSurroundings() (surroundings, error) { return config.Read[surroundings]() }

func (s surroundings) target() fire.Target {
	return fire.Target{
		OrderURLs: s.OrderURLs, StockURLs: s.StockURLs, StockToken: s.StockToken, CancelAfter: s.CancelAfter,
		PriceTTL: s.PriceTTL, Strategy: s.Strategy,
	}
}

func (s surroundings) databases() verify.Databases {
	return verify.Databases{OrderDSN: s.OrderDSN, StockDSN: s.StockDSN, ZooKeeperAddrs: s.ZooKeeperAddrs}
}

// output configures the results: their folder and format.
type output struct {
	out  string
	keep string
	json asJSON
	all  bool
}

func (o *output) flags(f *pflag.FlagSet) {
	f.StringVar(&o.out, "out", "out",
		"folder for verdict.json and history.jsonl; or the verdict's file, if it ends in .json")
	f.StringVar(&o.keep, "history", "",
		"file for every call with its times and its answer (default history.jsonl next to the verdict)")
	f.BoolVar(&o.all, "all", false, "print every invariant, not only the broken ones")
	f.BoolVar((*bool)(&o.json), "json", false, "print the verdict as JSON, in place of the table")
}

func (o *output) verdict() string {
	if filepath.Ext(o.out) == ".json" {
		return o.out
	}
	return filepath.Join(o.out, "verdict.json")
}

// clear removes the files of an earlier run.
func (o *output) clear() error { return history.Clear(o.verdict(), o.history()) }

func (o *output) history() string {
	if o.keep != "" {
		return o.keep
	}
	return filepath.Join(filepath.Dir(o.verdict()), "history.jsonl")
}

// flags adds flags for the addresses of the services.
func (s *surroundings) flags(f *pflag.FlagSet) {
	f.Var(config.NewListFlag(&s.OrderURLs), "url", "address of an order service; several are used in turn")
	f.Var(config.NewListFlag(&s.StockURLs), "stock-url", "address of a stock service; several are used in turn")
	f.DurationVar(&s.CancelAfter, "cancel-after", s.CancelAfter, "CANCEL_AFTER of the order services: none of the orders "+
		"may expire before")
	f.DurationVar(&s.PriceTTL, "price-ttl", s.PriceTTL, "PRICE_TTL of the order services: for so long they may "+
		"use a price that has changed")
}

// fromEnvironment sets flags that are not given from the environment variables of their names in capitals.
func fromEnvironment(f *pflag.FlagSet, names ...string) error {
	var err error
	for _, name := range names {
		variable := strings.ToUpper(name)
		if value := os.Getenv(variable); value != "" && !f.Changed(name) {
			if failed := f.Set(name, value); failed != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", variable, failed))
			}
		}
	}
	return err
}

// bounded is a number as the value of a flag.
type bounded[N int | float64] struct {
	to          *N
	least, most N
}

// within adds a flag for a number from least to most.
func within[N int | float64](f *pflag.FlagSet, to *N, name string, value, least, most N, usage string) {
	*to = value
	f.Var(bounded[N]{to, least, most}, name, usage)
}

func (b bounded[N]) Type() string   { return fmt.Sprintf("%T", b.least) }
func (b bounded[N]) String() string { return fmt.Sprint(*b.to) }

func (b bounded[N]) Set(text string) error {
	var n N
	if words, _ := fmt.Sscan(text, &n, new(string)); words != 1 || n < b.least || n > b.most {
		return fmt.Errorf("want %v to %v", b.least, b.most)
	}
	*b.to = n
	return nil
}
