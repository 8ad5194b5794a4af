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
	ListenAddr string `env:"LISTEN_ADDR" envDefault:":8081"`
	// OpsAddr is where metrics and profiles are served; empty: nowhere.
	OpsAddr         string        `env:"OPS_ADDR"`
	LogLevel        slog.Level    `env:"LOG_LEVEL" envDefault:"INFO"`
	ShutdownTimeout time.Duration `env:"SHUTDOWN_TIMEOUT" envDefault:"20s"`
	Token           secret        `env:"SERVICE_TOKEN,required,notEmpty"`

	MySQLDSN      secret `env:"MYSQL_DSN,required,notEmpty"`
	MySQLMaxConns int    `env:"MYSQL_MAX_CONNS" envDefault:"64"`
	RedisAddr     string `env:"REDIS_ADDR,required,notEmpty"`

	ZooKeeperAddrs []string      `env:"ZOOKEEPER_ADDRS,required,notEmpty"`
	ZooKeeperRoot  string        `env:"ZOOKEEPER_ROOT" envDefault:"/orderstock"`
	SessionTimeout time.Duration `env:"ZOOKEEPER_SESSION_TIMEOUT" envDefault:"10s"`

	// Strategy is the name of the strategy of deduction; empty: the default.
	Strategy    string        `env:"STOCK_STRATEGY"`
	LockTimeout time.Duration `env:"LOCK_TIMEOUT" envDefault:"1500ms"`
	// MaxInFlight bounds the operations in work; more are answered 503 at once.
	MaxInFlight int `env:"MAX_IN_FLIGHT" envDefault:"2048"`
	// RequestTimeout bounds the work for one request.
	RequestTimeout time.Duration `env:"REQUEST_TIMEOUT" envDefault:"5s"`
}

const defaultStrategy = "grouped"

func readConfig() (config, error) {
	cfg, err := env.ParseAs[config]()
	if err != nil {
		return config{}, fmt.Errorf("read configuration: %w", err)
	}
	if cfg.Strategy == "" {
		cfg.Strategy = defaultStrategy
	}
	return cfg, cfg.validate()
}

func (c config) validate() error {
	var errs []error
	for name, positive := range map[string]bool{
		"SHUTDOWN_TIMEOUT": c.ShutdownTimeout > 0, "ZOOKEEPER_SESSION_TIMEOUT": c.SessionTimeout >= time.Second,
		"LOCK_TIMEOUT": c.LockTimeout > 0, "REQUEST_TIMEOUT": c.RequestTimeout > 0,
		"MAX_IN_FLIGHT": c.MaxInFlight > 0, "MYSQL_MAX_CONNS": c.MySQLMaxConns > 0,
	} {
		if !positive {
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
