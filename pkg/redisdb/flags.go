package redisdb

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"

	"orderstock/pkg/batch"
)

// ttl is how long a flag waits to be taken.
const ttl = 30 * time.Minute

const (
	keyPrefix      = "opflag:"
	defaultTimeout = 200 * time.Millisecond
	// tripAfter is the number of consecutive failures that open the circuit breaker, for a second.
	tripAfter = 3
)

// Flags keeps operation flags. The order service sets a flag before it calls the stock service, and the first attempt
// that arrives there takes it.
//
// A flag is a hint. An attempt that takes it is the first, and need not look the operation up in MySQL. An attempt that
// does not take it knows nothing, and must look it up. So Redis alone never refuses an operation and never allows one,
// and every failure of Redis means "not taken". If Redis is down or hangs, the first calls wait for a bounded time;
// then a circuit breaker opens.
//
// Concurrent calls share round trips as one pipeline. Flags are safe for concurrent use. Make them with OpenFlags.
type Flags struct {
	client  Client
	breaker *gobreaker.CircuitBreaker[[]redis.Cmder]
	sets    *batch.Queue[string, bool]
	takes   *batch.Queue[string, bool]
}

// OpenFlags returns the flags of that server. It connects on first use, and logs when the circuit breaker opens or
// closes. With Sentinels, the flags follow the server through a failover. The user needs the commands SET and DEL on
// the keys opflag:*, and PING. Callers must Close the flags.
func OpenFlags(where Server, log *slog.Logger, opts ...Option) *Flags {
	timeout := defaultTimeout
	for _, opt := range opts {
		opt(&timeout)
	}
	f := &Flags{client: Open(where, timeout), breaker: Breaker[[]redis.Cmder]("redis", tripAfter, log)}
	f.sets = f.pipelined(timeout, func(ctx context.Context, p redis.Pipeliner, key string) { p.Set(ctx, key, 1, ttl) })
	f.takes = f.pipelined(timeout, func(ctx context.Context, p redis.Pipeliner, key string) { p.Del(ctx, key) })
	return f
}

// Option changes a default of OpenFlags.
type Option func(timeout *time.Duration)

// WithTimeout bounds a round trip to Redis. Default 200 ms.
func WithTimeout(d time.Duration) Option { return func(timeout *time.Duration) { *timeout = d } }

// Instrument passes the client to the function, which may add hooks that watch its commands. Call it before any other
// method.
func (f *Flags) Instrument(with func(Client) error) error { return with(f.client) }

// Register registers the metrics of the connection pool and of the circuit breaker.
func (f *Flags) Register(r prometheus.Registerer) {
	with := promauto.With(r)
	gauge := func(name, help string, value func() float64) {
		with.NewGaugeFunc(prometheus.GaugeOpts{Name: "redis_" + name, Help: help}, value)
	}
	gauge("connections", "Connections to Redis.", f.ofPools(func(s *redis.PoolStats) uint32 { return s.TotalConns }))
	gauge("idle_connections", "Connections to Redis without a call.",
		f.ofPools(func(s *redis.PoolStats) uint32 { return s.IdleConns }))
	gauge("breaker_open", "1 while calls are kept from Redis.",
		func() float64 { return float64(f.breaker.State()) / float64(gobreaker.StateOpen) })
	with.NewCounterFunc(prometheus.CounterOpts{
		Name: "redis_pool_timeouts_total", Help: "Calls that got no connection in time.",
	}, f.ofPools(func(s *redis.PoolStats) uint32 { return s.Timeouts }))
}

// ofPools returns the sum of a number of both pools of the client: pipelines have their own.
func (f *Flags) ofPools(number func(*redis.PoolStats) uint32) func() float64 {
	return func() float64 {
		stats := f.client.PoolStats()
		sum := number(stats)
		if stats.PipelineStats != nil {
			sum += number((*redis.PoolStats)(stats.PipelineStats))
		}
		return float64(sum)
	}
}

// Close waits for the calls in progress and closes the connections.
func (f *Flags) Close() error {
	f.sets.Close()
	f.takes.Close()
	if err := f.client.Close(); err != nil {
		return fmt.Errorf("close redis: %w", err)
	}
	return nil
}

// Set sets the flag for 30 minutes and reports whether Redis confirmed it.
func (f *Flags) Set(ctx context.Context, flag string) bool {
	set, err := f.sets.Do(ctx, flag)
	return err == nil && set
}

// Take removes the flag and reports whether this call removed it: at most one call gets true for each Set. False proves
// nothing: the flag was taken before, never set or lost by Redis, or the reply was lost.
func (f *Flags) Take(ctx context.Context, flag string) bool {
	taken, err := f.takes.Do(ctx, flag)
	return err == nil && taken
}

// Ping asks Redis for an answer.
func (f *Flags) Ping(ctx context.Context) error {
	if err := f.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("ping redis: %w", err)
	}
	return nil
}

// Ready asks Redis to set a flag that nobody takes: a server at its maxmemory answers, and sets nothing.
func (f *Flags) Ready(ctx context.Context) error {
	if err := f.client.Set(ctx, keyPrefix+"ready", 1, time.Second).Err(); err != nil {
		return fmt.Errorf("set a flag in redis: %w", err)
	}
	return nil
}

// pipelined returns a queue whose batches go to Redis as one pipeline of the commands added by add. The answer to a
// call is true if its command set or deleted the key.
func (f *Flags) pipelined(
	timeout time.Duration, add func(context.Context, redis.Pipeliner, string),
) *batch.Queue[string, bool] {
	return batch.Func(func(ctx context.Context, flags []string) ([]bool, error) {
		replies, err := f.breaker.Execute(func() ([]redis.Cmder, error) {
			return f.client.Pipelined(ctx, func(p redis.Pipeliner) error {
				for _, flag := range flags {
					add(ctx, p, keyPrefix+flag)
				}
				return nil
			})
		})
		if err != nil {
			return nil, fmt.Errorf("ask redis: %w", err)
		}
		did := make([]bool, len(flags))
		for i, reply := range replies {
			switch reply := reply.(type) {
			case *redis.IntCmd:
				did[i] = reply.Val() > 0
			case *redis.StatusCmd:
				did[i] = reply.Val() == "OK"
			}
		}
		return did, nil
	}, batch.WithTimeout(timeout))
}
