// Package ratelimit bounds how many requests a client may send in a window of time. The replicas of a
// service share the counts, in Redis. While Redis is away, requests pass unchecked, and a metric counts them.
package ratelimit

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
	"github.com/ulule/limiter/v3"
	redisstore "github.com/ulule/limiter/v3/drivers/store/redis"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/problem"
	"orderstock/pkg/redisdb"
)

// timeout bounds a round trip to Redis, which every limited request waits for.
const timeout = 100 * time.Millisecond

// Limits are the limits of a service. Safe for concurrent use. Make them with Open.
type Limits struct {
	client  redis.UniversalClient
	store   atomic.Pointer[limiter.Store] // nil until Redis has answered once
	breaker *gobreaker.CircuitBreaker[limiter.Context]
	proxies []netip.Prefix
	counted *prometheus.CounterVec
}

// Config says how requests are counted.
type Config struct {
	// Redis is the server, the database and the user. The user needs EVALSHA, SCRIPT LOAD, INCRBY, GET, PEXPIRE
	// and PTTL on the keys ratelimit:*. Timeouts and retries are the package's own.
	Redis redis.UniversalOptions
	// Proxies are the addresses whose X-Forwarded-For is believed; the engine must trust the same. A request
	// from one of them without that header comes from inside, and is not limited.
	Proxies []netip.Prefix
	// Metrics, if not nil, is where the counters are registered.
	Metrics prometheus.Registerer
	Log     *slog.Logger
}

// Open returns the limits. It connects on first use. Callers must Close them.
func Open(cfg Config) *Limits {
	return &Limits{
		client:  redisdb.Open(cfg.Redis, timeout),
		breaker: redisdb.Breaker[limiter.Context]("rate limit", cfg.Log),
		proxies: cfg.Proxies,
		counted: promauto.With(cfg.Metrics).NewCounterVec(prometheus.CounterOpts{
			Name: "rate_limit_requests_total",
			Help: "Requests by limit and result; unchecked: let through because Redis did not answer.",
		}, []string{"limit", "result"}),
	}
}

// Close drops the connections.
func (l *Limits) Close() error {
	if err := l.client.Close(); err != nil {
		return fmt.Errorf("close redis: %w", err)
	}
	return nil
}

// Rate is a number of requests in a window of time; the zero value is no limit.
type Rate struct{ rate limiter.Rate }

// UnmarshalText reads a rate such as 100-S, 1000-M, 10000-H or 100000-D; empty: no limit.
func (r *Rate) UnmarshalText(text []byte) error {
	*r = Rate{}
	if len(text) == 0 {
		return nil
	}
	rate, err := limiter.NewRateFromFormatted(string(text))
	if err != nil || rate.Limit < 1 {
		return fmt.Errorf("%q is not a rate such as 100-S, 1000-M or 10000-H", text)
	}
	r.rate = rate
	return nil
}

func (r Rate) String() string { return r.rate.Formatted }

// Limit returns a handler that lets each client send requests at the rate, counted under the name, and refuses
// further ones with 429 rate_limited. Answers carry RateLimit and RateLimit-Policy
// (draft-ietf-httpapi-ratelimit-headers).
func (l *Limits) Limit(name string, rate Rate) gin.HandlerFunc {
	if rate == (Rate{}) {
		return func(*gin.Context) {}
	}
	policy := fmt.Sprintf("%q;q=%d;w=%d", name, rate.rate.Limit, int64(rate.rate.Period.Seconds()))
	return httpapi.Handle(func(c *gin.Context) error {
		client, inside := l.sender(c)
		if inside {
			return nil
		}
		count, err := l.breaker.Execute(func() (limiter.Context, error) {
			return l.count(c.Request.Context(), name+":"+client, rate)
		})
		if err != nil {
			l.counted.WithLabelValues(name, "unchecked").Inc()
			return nil //nolint:nilerr // counted, and logged by the breaker: orders matter more than their limit
		}
		wait := max(1, count.Reset-time.Now().Unix())
		c.Header("RateLimit-Policy", policy)
		c.Header("RateLimit", fmt.Sprintf("%q;r=%d;t=%d", name, count.Remaining, wait))
		if count.Reached {
			l.counted.WithLabelValues(name, "refused").Inc()
			return problem.New(http.StatusTooManyRequests, "rate_limited",
				"%d requests in %v are used up", rate.rate.Limit, rate.rate.Period).
				After(time.Duration(wait) * time.Second)
		}
		l.counted.WithLabelValues(name, "allowed").Inc()
		return nil
	})
}

func (l *Limits) count(ctx context.Context, key string, rate Rate) (limiter.Context, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	store := l.store.Load()
	if store == nil { // the first request makes it, which loads a script into Redis
		made, err := redisstore.NewStoreWithOptions(l.client, limiter.StoreOptions{Prefix: "ratelimit"})
		if err != nil {
			return limiter.Context{}, err
		}
		store = &made
		l.store.Store(store)
	}
	return (*store).Get(ctx, key, rate.rate)
}

// sender returns the client that the request counts for: its address or, with IPv6, its network of 64 bits, all
// of whose addresses one machine may use. inside is true if the request comes from inside (Config.Proxies).
func (l *Limits) sender(c *gin.Context) (client string, inside bool) {
	if c.GetHeader("X-Forwarded-For") == "" {
		if peer, err := netip.ParseAddr(c.RemoteIP()); err == nil {
			for _, proxy := range l.proxies {
				if proxy.Contains(peer.Unmap()) {
					return "", true
				}
			}
		}
	}
	addr, err := netip.ParseAddr(c.ClientIP())
	if err != nil {
		return "", false // all whose address is unknown share one count
	}
	if addr = addr.Unmap(); addr.Is6() {
		network, _ := addr.Prefix(64) // 64 is always a length of IPv6
		return network.String(), false
	}
	return addr.String(), false
}
