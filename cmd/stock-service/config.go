package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orderstock/pkg/config"
	"orderstock/pkg/service"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/deduct/compared"
)

// settings are read from the environment. Their comments become the text of the help and the documents.
type settings struct {
	service.Settings

	// ListenAddr is the address to listen on.
	ListenAddr string `env:"LISTEN_ADDR" envDefault:":8081"`
	// AdvertiseAddr is this service's host:port announced in ZooKeeper. Empty: LISTEN_ADDR or, if that names no host, its
	// port at this machine's address in the connection to ZooKeeper.
	AdvertiseAddr string `env:"ADVERTISE_ADDR"`
	// MySQLMaxConns bounds the connections to the database.
	MySQLMaxConns int `env:"MYSQL_MAX_CONNS" envDefault:"64"`

	// Strategy is the deduction strategy; "stock-service --help" lists them. Empty: grouped.
	Strategy string `env:"STOCK_STRATEGY"`
	// LockTimeout bounds a deduction's wait for its lock; grouped uses LOCK_PATIENCE.
	LockTimeout time.Duration `env:"LOCK_TIMEOUT" envDefault:"1500ms"`
	// LockPatience is the minimum pause before a waiting group looks at the lock's holder; after two looks at the same one
	// it continues without the lock.
	LockPatience time.Duration `env:"LOCK_PATIENCE" envDefault:"100ms"`
	// MaxGroup bounds the operations of a transaction under grouped and grouped-rows, from 1 to 256. Small groups hold
	// rows for a shorter time.
	MaxGroup int `env:"STOCK_GROUP" envDefault:"256"`
	// MaxInFlight bounds the orders, or operations, in flight; others get 503 at once.
	MaxInFlight int `env:"MAX_IN_FLIGHT" envDefault:"2048"`
	// OldToken is accepted as well. To change SERVICE_TOKEN, restart the stock services with both, the order services with
	// the new one, then the stock services without this.
	OldToken config.Secret `env:"SERVICE_TOKEN_OLD"`
	// RequestTimeout bounds the work for one request.
	RequestTimeout time.Duration `env:"REQUEST_TIMEOUT" envDefault:"5s"`

	// allowUnsafe permits a strategy that is not correct. A flag sets it.
	allowUnsafe bool
}

// environment is the text of the settings for the help, made by "make readme".
//
//go:embed environment.txt
var environment string

func newCommand() *cobra.Command {
	var allowUnsafe bool
	c := service.Command(service.Program[settings]{
		Name: "stock-service", Short: "Own the stock: deduct it once for each order, and never oversell",
		Environment: environment + "\nSTOCK_STRATEGY is one of:\n" + strategies(),
		Read: func() (settings, error) {
			cfg, err := config.Read[settings]()
			cfg.Strategy, cfg.allowUnsafe = cmp.Or(cfg.Strategy, deduct.Default), allowUnsafe
			return cfg, err
		},
		Serve: func(ctx context.Context, cfg settings) error { return run(ctx, cfg, nil) },
		Check: func(cfg settings) error {
			return compared.Config{Redis: cfg.Redis(), AllowUnsafe: cfg.allowUnsafe}.Check(cfg.Strategy)
		},
		Listens: func(cfg settings) (string, bool) { return cfg.ListenAddr, cfg.TLSCert != "" },
	})
	c.PersistentFlags().BoolVar(&allowUnsafe, "allow-unsafe", false,
		"permit a strategy that oversells or loses operations")
	return c
}

// strategies returns a line for each strategy.
func strategies() string {
	var text strings.Builder
	for _, s := range deduct.Strategies {
		fmt.Fprintf(&text, "  %-18s  %s\n", s.Name, s.Summary)
	}
	return text.String() + "The default is " + deduct.Default + "."
}

// Check returns an error that names the first invalid setting, or nil.
func (s settings) Check() error {
	var unknown error
	if s.Strategy != "" {
		if _, err := deduct.Find(s.Strategy); err != nil {
			unknown = fmt.Errorf("STOCK_STRATEGY: %w", err)
		}
	}
	var advertised error
	if s.AdvertiseAddr != "" {
		advertised = config.CheckAddrs("ADVERTISE_ADDR", s.AdvertiseAddr)
	}
	return errors.Join(
		unknown, advertised,
		config.CheckToken("SERVICE_TOKEN_OLD", s.OldToken),
		s.Settings.Check(),
		config.CheckListen("LISTEN_ADDR", s.ListenAddr),
		config.Var("MYSQL_MAX_CONNS", s.MySQLMaxConns).Positive(),
		config.Var("LOCK_TIMEOUT", s.LockTimeout).Positive(),
		config.Var("LOCK_PATIENCE", s.LockPatience).Positive(),
		config.Var("STOCK_GROUP", s.MaxGroup).Between(1, deduct.MaxGroup),
		config.Var("MAX_IN_FLIGHT", s.MaxInFlight).Positive(),
		config.Var("REQUEST_TIMEOUT", s.RequestTimeout).Positive(),
	)
}
