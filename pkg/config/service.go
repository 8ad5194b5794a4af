package config

import (
	"errors"
	"log/slog"
	"strings"
	"time"
)

// Service holds the settings that both services read. A service's own settings embed it.
type Service struct {
	// OpsAddr is where /metrics and /debug/pprof are served (block and mutex with ?seconds=10); empty: nowhere.
	OpsAddr string `env:"OPS_ADDR"`
	// LogLevel is DEBUG, INFO, WARN or ERROR.
	LogLevel slog.Level `env:"LOG_LEVEL" envDefault:"INFO"`
	// ShutdownTimeout is how long a stop waits for requests in flight.
	ShutdownTimeout time.Duration `env:"SHUTDOWN_TIMEOUT" envDefault:"20s"`

	// MySQLDSN is the service's database, user:password@tcp(host:port)/database.
	MySQLDSN Secret `env:"MYSQL_DSN,required,notEmpty"`
	// RedisAddr is the Redis server, host:port.
	RedisAddr string `env:"REDIS_ADDR,required,notEmpty"`

	// ZooKeeperAddrs are the ZooKeeper servers, host:port, several by comma.
	ZooKeeperAddrs []string `env:"ZOOKEEPER_ADDRS,required,notEmpty"`
	// ZooKeeperRoot is the node that all nodes of the project are under.
	ZooKeeperRoot string `env:"ZOOKEEPER_ROOT" envDefault:"/orderstock"`
	// SessionTimeout is how long ZooKeeper waits for a silent session, at least 1s.
	SessionTimeout time.Duration `env:"ZOOKEEPER_SESSION_TIMEOUT" envDefault:"10s"`

	// Token is the bearer token of the stock service.
	Token Secret `env:"SERVICE_TOKEN,required,notEmpty"`
}

// Check returns what is wrong with the settings, or nil.
func (s Service) Check() error {
	var root error
	if !strings.HasPrefix(s.ZooKeeperRoot, "/") {
		root = errors.New(Var("ZOOKEEPER_ROOT", s.ZooKeeperRoot).String() + " must begin with /")
	}
	return errors.Join(root,
		Var("SHUTDOWN_TIMEOUT", s.ShutdownTimeout).Positive(),
		Var("ZOOKEEPER_SESSION_TIMEOUT", s.SessionTimeout).AtLeast(time.Second),
	)
}
