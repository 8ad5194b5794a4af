package orderhttp_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"orderstock/order-service/orderhttp"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

var quiet = slog.New(slog.DiscardHandler)

// replica is a service with a limit of three requests in a day, behind the proxies of 10.0.0.0/8.
type replica struct {
	http.Handler
	metrics *prometheus.Registry
}

func newReplica(t *testing.T, cfg orderhttp.LimitConfig) replica {
	t.Helper()
	return newReplicaOf(t, cfg, "3-D")
}

func newReplicaOf(t *testing.T, cfg orderhttp.LimitConfig, limit string) replica {
	t.Helper()
	var rate orderhttp.Rate
	must(t, rate.UnmarshalText([]byte(limit)))
	metrics := prometheus.NewRegistry()
	cfg.Proxies, cfg.Metrics = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, metrics
	limits := orderhttp.OpenLimits(cfg)
	t.Cleanup(func() { _ = limits.Close() })
	e := httpapi.NewEngine(quiet, httpapi.Options{})
	e.GET("/", limits.Limit("reads", rate), func(c *gin.Context) { c.Status(http.StatusNoContent) })
	return replica{e, metrics}
}

// shared is a database in the shared Redis, which may be slow, though it is not broken.
func shared(t *testing.T) orderhttp.LimitConfig {
	t.Helper()
	return orderhttp.LimitConfig{
		Redis:   redisdb.Server{Addrs: []string{serverstest.Redis(t).Addr()}, DB: serverstest.RedisDB(t)},
		Timeout: 20 * time.Second, Log: quiet,
	}
}

// get sends a request; each line of forwarded, unless it is empty, is a line of X-Forwarded-For.
func (r replica) get(from, forwarded string) *httptest.ResponseRecorder {
	req := httptest.NewRequest("GET", "/", nil)
	req.RemoteAddr = from
	if forwarded != "" {
		req.Header["X-Forwarded-For"] = strings.Split(forwarded, "\n")
	}
	rec := httptest.NewRecorder()
	r.ServeHTTP(rec, req)
	return rec
}

// TestAClientHasOneShareAtAllReplicas, by its address or, behind a trusted proxy, by what that says.
func TestAClientHasOneShareAtAllReplicas(t *testing.T) {
	cfg := shared(t)
	one, two := newReplica(t, cfg), newReplica(t, cfg)
	for name, who := range map[string][3][2]string{ // three requests of one client, each from and forwarded
		"by itself": {{"192.0.2.1:1"}, {"192.0.2.1:2"}, {"192.0.2.1:3"}},
		"another header changes nothing": {
			{"192.0.2.2:1", "1.1.1.1"}, {"192.0.2.2:1", "1.1.1.2"}, {"192.0.2.2:1", "1.1.1.3"},
		},
		"behind proxies": {
			{"10.0.0.1:1", "192.0.2.3"}, {"10.0.0.2:1", "192.0.2.3"}, {"10.0.0.1:1", "9.9.9.9, 192.0.2.3"},
		},
		"by the proxy's line alone": {
			{"10.0.0.1:1", "\n192.0.2.4"}, {"10.0.0.1:1", "9.9.9.9\n192.0.2.4"}, {"10.0.0.1:1", "10.0.0.7\n192.0.2.4"},
		},
		"behind two proxies": {
			{"10.0.0.1:1", "192.0.2.5, 10.0.0.2"}, {"10.0.0.1:1", "192.0.2.5\n10.0.0.3"}, {"10.0.0.2:1", "192.0.2.5"},
		},
		"with a port": {
			{"10.0.0.1:1", "192.0.2.6:80"}, {"10.0.0.1:1", "192.0.2.6:81"}, {"10.0.0.1:1", "::ffff:192.0.2.6"},
		},
		"IPv6 with a port": {
			{"10.0.0.1:1", "[2001:db8:1::1]:80"}, {"10.0.0.1:1", "[2001:db8:1::2]"}, {"10.0.0.1:1", "2001:db8:1::3"},
		},
		"a trusted address that a proxy names": {
			{"10.0.0.1:1", "10.0.1.1"}, {"10.0.0.1:1", "\n10.0.1.1"}, {"10.0.0.1:1", "junk, 10.0.1.1"},
		},
		"no address in the header": {{"10.0.2.1:1", " "}, {"10.0.2.1:1", "junk"}, {"10.0.2.1:1", "192.0.2.7, junk"}},
		"a network of IPv6":        {{"[2001:db8::1]:1"}, {"[2001:db8::2]:1"}, {"[2001:db8::3:4]:1"}},
	} {
		for i, r := range who {
			rec := one.get(r[0], r[1])
			if rec.Code != http.StatusNoContent ||
				!strings.HasPrefix(rec.Header().Get("RateLimit"), `"reads";r=`+string('2'-rune(i))+";t=") ||
				rec.Header().Get("RateLimit-Policy") != `"reads";q=3;w=86400` {
				t.Errorf("%s, request %d: %d %v", name, i+1, rec.Code, rec.Header())
			}
		}
		rec := two.get(who[0][0], who[0][1])
		if rec.Code != http.StatusTooManyRequests || !strings.Contains(rec.Body.String(), "rate_limited") ||
			rec.Header().Get("Retry-After") == "" {
			t.Errorf("%s, one too many at another replica: %d %s, Retry-After %q",
				name, rec.Code, rec.Body, rec.Header().Get("Retry-After"))
		}
	}
	for range 5 { // of the inside: a proxy that names no client
		if rec := one.get("10.0.0.9:1", ""); rec.Code != http.StatusNoContent {
			t.Errorf("the inside is limited: %d", rec.Code)
		}
	}
}

// TestACounterRefusesForItsWindowAtMost, even if it has no time to live or too long a one.
func TestACounterRefusesForItsWindowAtMost(t *testing.T) {
	cfg := shared(t)
	r := newReplicaOf(t, cfg, "3-S")
	client := redisdb.Open(cfg.Redis, cfg.Timeout)
	defer func() { _ = client.Close() }()
	for who, ttl := range map[string]time.Duration{"192.0.2.1": 0, "192.0.2.2": time.Hour} {
		must(t, client.Set(t.Context(), "ratelimit:reads:"+who, 1000, ttl).Err())
		if rec := r.get(who+":1", ""); rec.Code != http.StatusTooManyRequests || rec.Header().Get("Retry-After") != "1" {
			t.Errorf("time to live %v: %d, Retry-After %q; want 429 for a second",
				ttl, rec.Code, rec.Header().Get("Retry-After"))
		}
		deadline := time.Now().Add(time.Minute)
		for ; r.get(who+":1", "").Code != http.StatusNoContent; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("time to live %v: refused for ever", ttl)
				break
			}
		}
	}
}

// TestAFrozenRedisCostsOneTimeout, not one for each request, from the first request on.
func TestAFrozenRedisCostsOneTimeout(t *testing.T) {
	redis, err := servers.StartRedis(t.Context(), servers.Options{Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { _ = redis.Kill() })
	var log bytes.Buffer
	r := newReplica(t, orderhttp.LimitConfig{
		Redis: redisdb.Server{Addrs: []string{redis.Addr()}}, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	must(t, redis.Pause())
	began := time.Now()
	for i := range 20 {
		if rec := r.get("192.0.2.1:1", ""); rec.Code != http.StatusNoContent {
			t.Errorf("request %d: %d", i+1, rec.Code)
		}
		// Requests after this do not wait; one in a second tries again.
		if i == 0 && !strings.Contains(log.String(), "from=closed to=open") {
			t.Errorf("after the first request: %q; want the breaker open", log.String())
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("20 requests took %v", took)
	}
}

// TestWithoutRedisAllPass: each is counted as unchecked. Once Redis is back, the limit holds again.
func TestWithoutRedisAllPass(t *testing.T) {
	redis, err := servers.StartRedis(t.Context(), servers.Options{Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { _ = redis.Kill() })
	must(t, redis.Pause())
	r := newReplica(t, orderhttp.LimitConfig{Redis: redisdb.Server{Addrs: []string{redis.Addr()}}, Log: quiet})
	for i := range 6 {
		if rec := r.get("192.0.2.1:1", ""); rec.Code != http.StatusNoContent {
			t.Errorf("request %d without Redis: %d", i+1, rec.Code)
		}
	}
	const want = "# TYPE rate_limit_requests_total counter\n" +
		`rate_limit_requests_total{limit="reads",result="unchecked"} 6` + "\n"
	if err := testutil.GatherAndCompare(r.metrics, strings.NewReader(
		"# HELP rate_limit_requests_total Requests by limit and result; "+
			"unchecked: let through because Redis did not answer.\n"+want,
	)); err != nil {
		t.Error(err)
	}
	must(t, redis.Resume())
	for deadline := time.Now().Add(time.Minute); r.get("192.0.2.1:1", "").Code != http.StatusTooManyRequests; {
		if time.Now().After(deadline) {
			t.Fatal("never limited again")
		}
	}
}

func TestRatesAreChecked(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"": true, "10-S": true, "5-M": true, "10": false, "0-S": false, "-1-S": false, "x-S": false, "10-Y": false,
		"-S": false, "10-S-": false, "2-h": true,
	} {
		var rate orderhttp.Rate
		if err := rate.UnmarshalText([]byte(text)); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}

var must = serverstest.Must
