package service

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"orderstock/pkg/config"
	"orderstock/pkg/coordination"
	"orderstock/pkg/redisdb"
	"orderstock/pkg/tracing"
)

// Settings configure what both services share. A service's settings embed them.
type Settings struct {
	// OpsAddr is the address of /metrics and /debug/pprof (block and mutex with ?seconds=10); empty: not served.
	OpsAddr string `env:"OPS_ADDR"`
	// LogLevel is DEBUG, INFO, WARN or ERROR.
	LogLevel slog.Level `env:"LOG_LEVEL" envDefault:"INFO"`
	// Processors is the number of processors to use, read by the Go runtime; 0: all. Services on one machine need a share
	// each.
	Processors int `env:"GOMAXPROCS" envDefault:"0"`
	// ShutdownDelay is how long a stop keeps the port open while the health checks fail and each connection is closed
	// after its next answer: longer than a proxy in front takes to notice. With 0, a call that arrives just then may get
	// no answer.
	ShutdownDelay time.Duration `env:"SHUTDOWN_DELAY" envDefault:"250ms"`
	// ShutdownTimeout bounds a stop's wait for requests in flight.
	ShutdownTimeout time.Duration `env:"SHUTDOWN_TIMEOUT" envDefault:"20s"`

	// MySQLDSN is the service's database, user:password@tcp(host:port)/database.
	MySQLDSN config.Secret `env:"MYSQL_DSN,required,notEmpty"`
	redisdb.Location

	// ZooKeeperAddrs are the ZooKeeper servers, host:port, several by comma.
	ZooKeeperAddrs []string `env:"ZOOKEEPER_ADDRS,required,notEmpty"`
	// ZooKeeperRoot is the parent of all nodes.
	ZooKeeperRoot string `env:"ZOOKEEPER_ROOT" envDefault:"/orderstock"`
	// ZooKeeperAuth is the services' user:password in ZooKeeper, the same for all: it closes their nodes to others. Empty:
	// the nodes are open to every client.
	ZooKeeperAuth config.Secret `env:"ZOOKEEPER_AUTH"`
	// SessionTimeout is the ZooKeeper session timeout, from 1s to 10m. The servers have their own bounds.
	SessionTimeout time.Duration `env:"ZOOKEEPER_SESSION_TIMEOUT" envDefault:"10s"`

	// TLSCert is the certificate, then its signers', in PEM. With it and TLS_KEY the service speaks only HTTPS.
	TLSCert config.Secret `env:"TLS_CERT"`
	// TLSKey is the key of TLS_CERT, in PEM.
	TLSKey config.Secret `env:"TLS_KEY"`

	// StockPartitions is the number of partitions of the stock, 1 to 1024, the same for all services.
	StockPartitions int `env:"STOCK_PARTITIONS" envDefault:"1"`
	// Token is the bearer token of the stock service, at least 16 characters.
	Token config.Secret `env:"SERVICE_TOKEN,required,notEmpty"`

	tracing.Exports
}

const (
	maxPartitions = 1024
	maxSession    = 10 * time.Minute
	minToken      = 16
)

// Check returns an error that names the first invalid setting, or nil.
func (s Settings) Check() error {
	var root error
	if !strings.HasPrefix(s.ZooKeeperRoot, "/") {
		root = errors.New(config.Var("ZOOKEEPER_ROOT", s.ZooKeeperRoot).String() + " must begin with /")
	}
	if len(s.ZooKeeperAddrs) == 0 {
		root = errors.Join(root, errors.New("ZOOKEEPER_ADDRS names no server"))
	}
	_, tlsWrong := s.TLS()
	return errors.Join(tlsWrong, root,
		config.CheckLogin("ZOOKEEPER_AUTH", s.ZooKeeperAuth), s.Location.Check(), s.Exports.Check(),
		config.CheckToken("SERVICE_TOKEN", s.Token), s.checkTokenLength(),
		config.CheckAddrs("ZOOKEEPER_ADDRS", s.ZooKeeperAddrs...), s.checkOps(),
		config.Var("STOCK_PARTITIONS", s.StockPartitions).Between(1, maxPartitions),
		config.Var("GOMAXPROCS", s.Processors).AtLeast(0),
		config.Var("SHUTDOWN_DELAY", s.ShutdownDelay).AtLeast(0),
		config.Var("SHUTDOWN_TIMEOUT", s.ShutdownTimeout).Positive(),
		config.Var("ZOOKEEPER_SESSION_TIMEOUT", s.SessionTimeout).Between(time.Second, maxSession),
	)
}

// checkTokenLength: proofs made of the token lie where others may read them, and try guesses.
func (s Settings) checkTokenLength() error {
	if len(s.Token) < minToken {
		return fmt.Errorf("SERVICE_TOKEN must have at least %d characters, such as those of: openssl rand -hex 16", minToken)
	}
	return nil
}

func (s Settings) checkOps() error {
	if s.OpsAddr == "" {
		return nil
	}
	return config.CheckListen("OPS_ADDR", s.OpsAddr)
}

// TLS returns the service's certificate, or nil if it speaks plain HTTP.
func (s Settings) TLS() (*tls.Config, error) {
	if s.TLSCert == "" && s.TLSKey == "" {
		return nil, nil
	}
	pair, err := tls.X509KeyPair([]byte(s.TLSCert), []byte(s.TLSKey))
	if err != nil {
		return nil, fmt.Errorf("TLS_CERT and TLS_KEY must be a certificate and its key: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// ZooKeeper returns the address of ZooKeeper, and the service's login there.
func (s Settings) ZooKeeper() coordination.Config {
	return coordination.Config{
		ZooKeeper: s.ZooKeeperAddrs, Root: s.ZooKeeperRoot, Auth: string(s.ZooKeeperAuth), SessionTimeout: s.SessionTimeout,
	}
}
