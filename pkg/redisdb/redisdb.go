// Package redisdb opens a Redis that the caller can do without: calls to it are short, are never retried, and stop for
// a while when it fails.
package redisdb

import (
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

// openFor is how long a breaker stays open.
const openFor = time.Second

// Open returns a client of the server in the options. It connects on first use. Each round trip takes at most timeout.
// The client never retries: the second reply to a DEL whose first one was lost would be "nothing deleted". Callers must
// Close the client.
func Open(where redis.UniversalOptions, timeout time.Duration) redis.UniversalClient {
	opts := &where
	opts.MaxRetries, opts.ContextTimeoutEnabled, opts.DisableIdentity = -1, true, true
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout, opts.PoolTimeout = timeout, timeout, timeout, timeout
	return redis.NewUniversalClient(opts)
}

// Breaker returns a circuit breaker for calls of such a client. After that many consecutive failures it opens for a
// second. It logs when it opens or closes.
func Breaker[T any](name string, failures uint32, log *slog.Logger) *gobreaker.CircuitBreaker[T] {
	return gobreaker.NewCircuitBreaker[T](gobreaker.Settings{
		Name:        name,
		Timeout:     openFor,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= failures },
		OnStateChange: func(name string, from, to gobreaker.State) {
			log.Warn("circuit breaker", "name", name, "from", from.String(), "to", to.String())
		},
	})
}
