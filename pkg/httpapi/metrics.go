package httpapi

import (
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// measure returns a handler that counts requests and times them, by route.
func measure(r prometheus.Registerer) gin.HandlerFunc {
	with := promauto.With(r)
	requests := with.NewCounterVec(prometheus.CounterOpts{
		Name: "http_requests_total", Help: "Requests answered.",
	}, []string{"method", "route", "code"})
	seconds := with.NewHistogramVec(prometheus.HistogramOpts{
		Name: "http_request_seconds", Help: "Time from a request's headers to the end of its answer.",
		Buckets:                     prometheus.ExponentialBuckets(0.001, 2, 14),
		NativeHistogramBucketFactor: 1.1,
	}, []string{"method", "route"})
	inFlight := with.NewGauge(prometheus.GaugeOpts{Name: "http_requests_in_flight", Help: "Requests in flight."})
	return func(c *gin.Context) {
		start := time.Now()
		inFlight.Inc()
		defer func() {
			inFlight.Dec()
			route, method := c.FullPath(), c.Request.Method
			if route == "" { // a path that a client makes up must not become a label
				route, method = "none", "any"
			}
			requests.WithLabelValues(method, route, strconv.Itoa(c.Writer.Status())).Inc()
			seconds.WithLabelValues(method, route).Observe(time.Since(start).Seconds())
		}()
		c.Next()
	}
}
