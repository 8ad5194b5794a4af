package servers

import (
	"os"
	"regexp"
	"slices"
)

// ours matches the settings of this project's programs, but for those that all programs share: OTEL_… and GOMAXPROCS.
var ours = regexp.MustCompile(`^(` +
	`(CONFIRM|CONSOLE|FAULTPOINT|GROUP|LOCK|MIGRATE|ORDER|RATE_LIMIT|RECONCILE|REDIS|SHUTDOWN|STOCK|TLS|VERIFY)_\w+|` +
	`MYSQL_(ADMIN_DSN|DSN|MAX_CONNS)|ZOOKEEPER_(ADDRS|AUTH|ROOT|SESSION_TIMEOUT)|SERVICE_TOKEN(_OLD)?|` +
	`(ADVERTISE|LISTEN|OPS)_ADDR|CANCEL_AFTER|CLERKS|IDEMPOTENCY_KEY|LOG_LEVEL|MAX_IN_FLIGHT|MUTANT|PENDING_LIMIT|` +
	`PRICE_TTL|REQUEST_TIMEOUT|TRUSTED_PROXIES)(_FILE)?=`)

// Environment returns the environment of a program: these settings, and this process's environment without settings of
// this project, which a shell may still have of another stack.
func Environment(settings ...string) []string {
	return append(slices.DeleteFunc(os.Environ(), ours.MatchString), settings...)
}

// The environment variables that name running servers for tests to use, by the administrator's
// DSN for MySQL and by host:port for the others. Package serverstest reads them.
const (
	EnvTestMySQL     = "ORDERSTOCK_TEST_MYSQL"
	EnvTestRedis     = "ORDERSTOCK_TEST_REDIS"
	EnvTestZooKeeper = "ORDERSTOCK_TEST_ZOOKEEPER"
)
