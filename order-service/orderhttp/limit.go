package orderhttp

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/redisdb"
)

const (
	// limitTimeout is short because every limited request waits for the round trip.
	limitTimeout = 100 * time.Millisecond
	// limitTripAfter is the number of failures after which requests pass for a second without asking Redis.
	limitTripAfter = 1
)

// Limits bound the number of requests that a client may send in a window of time. The replicas of the service share the
// counts, in Redis. While Redis is away, requests pass unchecked, and a metric counts them. They are safe for
// concurrent use. Make them with OpenLimits.
type Limits struct {
	client  redisdb.Client
	timeout time.Duration
	breaker *gobreaker.CircuitBreaker[count]
	proxies []netip.Prefix
	counted *prometheus.CounterVec
}

// LimitConfig configures OpenLimits.
type LimitConfig struct {
	// Redis is the server, the database and the user. The user needs EVALSHA, SCRIPT LOAD, INCRBY, PEXPIRE and PTTL on the
	// keys ratelimit:*. Its timeouts are set here.
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

// OpenLimits returns the limits. It connects on first use. Callers must Close them.
func OpenLimits(cfg LimitConfig) *Limits {
	timeout := cmp.Or(cfg.Timeout, limitTimeout)
	return &Limits{
		client:  redisdb.Open(cfg.Redis, timeout),
		timeout: timeout,
		breaker: redisdb.Breaker[count]("rate limit", limitTripAfter, cfg.Log),
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

// Limit returns a handler that lets each client send requests at the rate, counted under the name, and refuses further
// ones with 429 rate_limited. Answers carry RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers).
func (l *Limits) Limit(name string, rate Rate) gin.HandlerFunc {
	if rate == (Rate{}) {
		return func(*gin.Context) {}
	}
	inside := Inside(l.proxies)
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

// count is the number of requests in a window that ends after left.
type count struct {
	requests int64
	left     time.Duration
}

// increment counts a request. A counter without a time to live, which a crash of Redis can leave behind, or with one
// longer than the window, as after a change of the rate, gets the window's.
var increment = redis.NewScript(`
local requests = redis.call("INCRBY", KEYS[1], 1)
local left = redis.call("PTTL", KEYS[1])
local window = tonumber(ARGV[1])
if left < 0 or left > window then
	redis.call("PEXPIRE", KEYS[1], window)
	left = window
end
return {requests, left}
`)

// count counts a request under the key.
func (l *Limits) count(ctx context.Context, key string, window time.Duration) (count, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.timeout)
	defer cancel()
	eval := func() ([]int64, error) {
		return increment.EvalSha(ctx, l.client, []string{"ratelimit:" + key}, window.Milliseconds()).Int64Slice()
	}
	n, err := eval()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err := increment.Load(ctx, l.client).Err(); err != nil {
			return count{}, fmt.Errorf("load the script: %w", err)
		}
		n, err = eval()
	}
	if err != nil {
		return count{}, fmt.Errorf("count a request: %w", err)
	}
	return count{n[0], time.Duration(n[1]) * time.Millisecond}, nil
}

// Rate is a number of requests in a window of time; the zero value is no limit.
type Rate struct {
	limit  int64
	period time.Duration
}

var periods = map[string]time.Duration{"S": time.Second, "M": time.Minute, "H": time.Hour, "D": 24 * time.Hour}

// UnmarshalText reads a rate such as 100-S, 1000-M, 10000-H or 100000-D; empty: no limit.
func (r *Rate) UnmarshalText(text []byte) error {
	*r = Rate{}
	if len(text) == 0 {
		return nil
	}
	number, unit, _ := strings.Cut(string(text), "-")
	limit, err := strconv.ParseInt(number, 10, 64)
	period, ok := periods[strings.ToUpper(unit)]
	if err != nil || !ok || limit < 1 {
		return fmt.Errorf("%q is not a rate such as 100-S, 1000-M or 10000-H", text)
	}
	*r = Rate{limit, period}
	return nil
}

func (r Rate) String() string {
	for unit, period := range periods {
		if period == r.period {
			return fmt.Sprintf("%d-%s", r.limit, unit)
		}
	}
	return ""
}
