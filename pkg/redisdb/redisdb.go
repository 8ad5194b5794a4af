// Package redisdb opens a Redis that the caller can do without: calls to it are short, are never retried, and stop for
// a while when it fails. Flags are operation flags in it.
package redisdb

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"

	"orderstock/pkg/config"
)

// openFor is how long a breaker stays open.
const openFor = time.Second

// Server locates a Redis server, and says who logs in.
type Server struct {
	// Addrs is the server's host:port, or the Sentinels', which know the server by the name Master.
	Addrs  []string
	Master string
	// User and Password are for the server and for the Sentinels.
	User, Password string
	DB             int
}

// Client has the methods of redis.UniversalClient that are used here. It is an interface, and Server another
// type than redis.Options, because a package that names the library's clients or options compiles their 1,700 method
// wrappers again: two seconds for each.
type Client interface {
	redis.Cmdable
	Do(ctx context.Context, args ...any) *redis.Cmd
	PoolStats() *redis.PoolStats
	Close() error
}

// Open returns a client of a server. It connects on first use. Each round trip takes at most timeout. The client never
// retries: the second reply to a DEL whose first one was lost would be "nothing deleted". Callers must Close it.
func Open(s Server, timeout time.Duration) Client {
	opts := &redis.UniversalOptions{
		Addrs: s.Addrs, MasterName: s.Master, DB: s.DB, Username: s.User, Password: s.Password,
		MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true,
		DialTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout, PoolTimeout: timeout,
	}
	if s.Master != "" {
		opts.SentinelUsername, opts.SentinelPassword = s.User, s.Password
	}
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

// Location holds the settings that locate Redis. Settings embed it.
type Location struct {
	// RedisAddrs is the Redis server, host:port; with REDIS_MASTER the Sentinels, several by comma.
	RedisAddrs []string `env:"REDIS_ADDR"`
	// RedisMaster is the Sentinels' name for the Redis server; empty: no Sentinels.
	RedisMaster string `env:"REDIS_MASTER"`
	// RedisAuth is the user:password for Redis and the Sentinels; empty: no login.
	RedisAuth config.Secret `env:"REDIS_AUTH"`
}

// Check returns an error that names the first invalid setting, or nil.
func (l Location) Check() error {
	switch {
	case len(l.RedisAddrs) == 0:
		return errors.New("REDIS_ADDR is not set")
	case len(l.RedisAddrs) > 1 && l.RedisMaster == "":
		return errors.New("REDIS_ADDR names several Sentinels: set REDIS_MASTER, their name for the Redis server")
	}
	return errors.Join(config.CheckLogin("REDIS_AUTH", l.RedisAuth), config.CheckAddrs("REDIS_ADDR", l.RedisAddrs...))
}

// Redis returns the server and the login. Without a setting it has no addresses.
func (l Location) Redis() Server {
	user, password, _ := strings.Cut(string(l.RedisAuth), ":")
	return Server{Addrs: l.RedisAddrs, Master: l.RedisMaster, User: user, Password: password}
}
