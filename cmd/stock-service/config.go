package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/caarlos0/env/v11"

	"orderstock/pkg/service"
	"orderstock/stock-service/deduct/strategy"
)

// config is read from the environment.
type config struct {
	service.Settings

	ListenAddr    string `env:"LISTEN_ADDR" envDefault:":8081"`
	MySQLMaxConns int    `env:"MYSQL_MAX_CONNS" envDefault:"64"`

	// Strategy is the name of the strategy of deduction; empty: the default. "stock-service --help" lists them.
	Strategy    string        `env:"STOCK_STRATEGY"`
	LockTimeout time.Duration `env:"LOCK_TIMEOUT" envDefault:"1500ms"`
	// MaxInFlight bounds the operations in work; more are answered 503 at once.
	MaxInFlight int `env:"MAX_IN_FLIGHT" envDefault:"2048"`
	// RequestTimeout bounds the work for one request.
	RequestTimeout time.Duration `env:"REQUEST_TIMEOUT" envDefault:"5s"`
}

func readConfig() (config, error) {
	cfg, err := env.ParseAs[config]()
	if err != nil {
		return config{}, fmt.Errorf("read configuration: %w", err)
	}
	if cfg.Strategy == "" {
		cfg.Strategy = strategy.Default
	}
	return cfg, cfg.validate()
}

func (c config) validate() error {
	_, err := strategy.Find(c.Strategy)
	if err != nil {
		err = fmt.Errorf("read STOCK_STRATEGY: %w", err)
	}
	return errors.Join(err, c.Check(map[string]bool{
		"LOCK_TIMEOUT": c.LockTimeout > 0, "REQUEST_TIMEOUT": c.RequestTimeout > 0,
		"MAX_IN_FLIGHT": c.MaxInFlight > 0, "MYSQL_MAX_CONNS": c.MySQLMaxConns > 0,
	}))
}
