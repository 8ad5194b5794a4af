// Package service is what the processes of the order service and of the stock service have in
// common: the settings that both read, their commands and their log.
package service

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"
)

// Settings are read from the environment, by a service's own settings that embed them.
type Settings struct {
	// OpsAddr is where /metrics and /debug/pprof are served (block and mutex with ?seconds=10); empty: nowhere.
	OpsAddr         string        `env:"OPS_ADDR"`
	LogLevel        slog.Level    `env:"LOG_LEVEL" envDefault:"INFO"`
	ShutdownTimeout time.Duration `env:"SHUTDOWN_TIMEOUT" envDefault:"20s"`

	MySQLDSN  Secret `env:"MYSQL_DSN,required,notEmpty"`
	RedisAddr string `env:"REDIS_ADDR,required,notEmpty"`

	ZooKeeperAddrs []string      `env:"ZOOKEEPER_ADDRS,required,notEmpty"`
	ZooKeeperRoot  string        `env:"ZOOKEEPER_ROOT" envDefault:"/orderstock"`
	SessionTimeout time.Duration `env:"ZOOKEEPER_SESSION_TIMEOUT" envDefault:"10s"`

	// Token is what the stock service wants to see, and the order service shows.
	Token Secret `env:"SERVICE_TOKEN,required,notEmpty"`
}

// Check returns what is wrong with the settings, and with the service's own: large says of each of
// those, by the variable's name, whether it is large enough.
func (s Settings) Check(large map[string]bool) error {
	large = maps.Clone(large)
	large["SHUTDOWN_TIMEOUT"] = s.ShutdownTimeout > 0
	large["ZOOKEEPER_SESSION_TIMEOUT"] = s.SessionTimeout >= time.Second
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(large)) {
		if !large[name] {
			errs = append(errs, fmt.Errorf("%s is too small", name))
		}
	}
	if s.ZooKeeperRoot == "" || s.ZooKeeperRoot[0] != '/' {
		errs = append(errs, errors.New("ZOOKEEPER_ROOT has to begin with /"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	return nil
}

// Secret is a string that prints as ***.
type Secret string

func (Secret) String() string { return "***" }

// LogValue keeps the secret out of structured logs.
func (Secret) LogValue() slog.Value { return slog.StringValue("***") }
