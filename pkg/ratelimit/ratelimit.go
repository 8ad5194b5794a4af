// Package ratelimit bounds the number of requests that a client may send in a window of time. The replicas of a service
// share the counts, in Redis. While Redis is away, requests pass unchecked, and a metric counts them.
package ratelimit

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/sony/gobreaker/v2"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/redisdb"
)

const (
	// defaultTimeout is short because every limited request waits for the round trip.
	defaultTimeout = 100 * time.Millisecond
	// tripAfter is the number of failures after which requests pass for a second without asking Redis.
	tripAfter = 1
)

// Limits are the limits of a service. Safe for concurrent use. Make them with Open.
type Limits struct {
	client  redisdb.Client
	timeout time.Duration
	breaker *gobreaker.CircuitBreaker[count]
	proxies []netip.Prefix
	counted *prometheus.CounterVec
}

// Config configures Open.
type Config struct {
	// Redis is the server, the database and the user. The user needs EVALSHA, SCRIPT LOAD, INCRBY, PEXPIRE and PTTL on the
	// keys ratelimit:*. The package sets timeouts and retries.
	Redis redisdb.Server
	// Timeout bounds a round trip to Redis. Default 100 ms.
	Timeout time.Duration
	// Proxies are the addresses whose X-Forwarded-For is trusted. A request from one of them without that header comes
	// from inside, and is not limited.
	Proxies []netip.Prefix
	// Metrics, if not nil, registers the counters.
	Metrics prometheus.Registerer
	Log     *slog.Logger
}

// Open returns the limits. It connects on first use. Callers must Close them.
func Open(cfg Config) *Limits {
	timeout := cmp.Or(cfg.Timeout, defaultTimeout)
	return &Limits{
		client:  redisdb.Open(cfg.Redis, timeout),
		timeout: timeout,
		breaker: redisdb.Breaker[count]("rate limit", tripAfter, cfg.Log),
		proxies: cfg.Proxies,
		counted: promauto.With(cfg.Metrics).NewCounterVec(prometheus.CounterOpts{
			Name: "rate_limit_requests_total",
			Help: "Requests by limit and result; unchecked: let through because Redis did not answer.",
		}, []string{"limit", "result"}),
	}
}

// Close closes the connections.
func (l *Limits) Close() error {
	if err := l.client.Close(); err != nil {
		return fmt.Errorf("close redis: %w", err)
	}
	return nil
}

// Limit returns a handler that lets each client send requests at the rate, counted under the name, and refuses
// further ones with 429 rate_limited. Answers carry RateLimit and RateLimit-Policy
// (draft-ietf-httpapi-ratelimit-headers).
func (l *Limits) Limit(name string, rate Rate) gin.HandlerFunc {
	if rate == (Rate{}) {
		return func(*gin.Context) {}
	}
	inside := httpapi.Inside(l.proxies)
	unchecked := l.counted.WithLabelValues(name, "unchecked") // shown as 0 from the start
	policy := fmt.Sprintf("%q;q=%d;w=%d", name, rate.limit, int64(rate.period.Seconds()))
	return httpapi.Handle(func(c *gin.Context) error {
		if inside(c.Request) {
			return nil
		}
		client := sender(c.Request, l.proxies)
		n, err := l.breaker.Execute(func() (count, error) {
			return l.count(c.Request.Context(), name+":"+client, rate.period)
		})
		if err != nil {
			unchecked.Inc()
			return nil //nolint:nilerr // counted, and logged by the breaker: orders matter more than their limit
		}
		wait := max(1, int64((n.left+time.Second-1)/time.Second))
		c.Header("RateLimit-Policy", policy)
		c.Header("RateLimit", fmt.Sprintf("%q;r=%d;t=%d", name, max(0, rate.limit-n.requests), wait))
		if n.requests > rate.limit {
			l.counted.WithLabelValues(name, "refused").Inc()
			return httpapi.NewProblem(http.StatusTooManyRequests, "rate_limited",
				"%d requests in %v are used up", rate.limit, rate.period).
				After(time.Duration(wait) * time.Second)
		}
		l.counted.WithLabelValues(name, "allowed").Inc()
		return nil
	})
}
