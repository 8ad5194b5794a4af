// Package httpapi is the HTTP side that both services share: strict JSON in, problem details (RFC 9457) out, propagated
// request ids and deadlines, the service token, health, and a server that stops without cutting off requests.
package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/otel/trace"

	"orderstock/pkg/observe"
	"orderstock/pkg/tracing"
)

// Options are the settings of an engine. The zero value is usable.
type Options struct {
	// MaxBody bounds a request's body, in bytes. Default 64 KiB.
	MaxBody int64
	// WriteTimeout bounds each write of a response: a caller that stops reading for that long is cut off. Default 10 s.
	WriteTimeout time.Duration
	// Metrics, if not nil, registers the counts and durations of requests.
	Metrics prometheus.Registerer
	// Problem is the service's one table from errors to problems; it returns nil for an error that it lacks.
	Problem func(error) *Problem
}

// NewEngine returns a gin engine that gives each request an id, a logger and its caller's deadline, bounds its body,
// and turns panics, unknown paths and wrong methods into problems.
func NewEngine(log *slog.Logger, opts Options) *gin.Engine {
	opts.MaxBody, opts.WriteTimeout = cmp.Or(opts.MaxBody, 64<<10), cmp.Or(opts.WriteTimeout, 10*time.Second)
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false // gin's redirect repeats the client's X-Forwarded-Prefix
	e.UseRawPath = true             // an id with an encoded slash reaches the id's own check
	e.UnescapePathValues = true
	e.ForwardedByClientIP = false // the limits of requests determine the client
	e.Use(measure(opts.Metrics))
	e.Use(func(c *gin.Context) { serveRequest(c, log, &opts) })
	e.NoRoute(Handle(func(c *gin.Context) error {
		return NewProblem(http.StatusNotFound, "not_found", "no such path")
	}))
	e.NoMethod(Handle(func(c *gin.Context) error {
		return NewProblem(http.StatusMethodNotAllowed, "method_not_allowed", "%s is not for this path", c.Request.Method)
	}))
	return e
}

// Get makes the handlers answer GET and HEAD. The server drops the body of an answer to HEAD.
func Get(e gin.IRoutes, path string, handlers ...gin.HandlerFunc) {
	e.GET(path, handlers...)
	e.HEAD(path, handlers...)
}

func serveRequest(c *gin.Context, log *slog.Logger, opts *Options) {
	start := time.Now()
	ctx := observe.WithRequest(c.Request.Context(), log, c.GetHeader(observe.HeaderID))
	c.Header(observe.HeaderID, observe.RequestID(ctx))
	c.Header("Cache-Control", "no-store") // an answer is true when it is given
	if leaving(ctx) {
		c.Header("Connection", "close")
	}
	if tracing.On(ctx) {
		trace.SpanFromContext(ctx).SetName(c.Request.Method + " " + c.FullPath())
	}
	if ms, err := strconv.ParseInt(c.GetHeader(observe.HeaderTimeout), 10, 32); err == nil && ms > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
		defer cancel()
	}
	c.Request = c.Request.WithContext(ctx)
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, opts.MaxBody)
	c.Writer = boundedWriter{c.Writer, opts}
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so, too
				panic(p)
			}
			observe.Logger(ctx).Error("panic", "panic", p, "stack", string(debug.Stack()))
			write(c, internal)
		}
		level := slog.LevelDebug
		if c.Writer.Status() >= http.StatusInternalServerError {
			level = slog.LevelInfo
		}
		if log.Enabled(ctx, level) {
			observe.Logger(ctx).Log(ctx, level, "request", "method", c.Request.Method, "path", c.Request.URL.Path,
				"status", c.Writer.Status(), "ms", float64(time.Since(start).Microseconds())/1000)
		}
	}()
	c.Next()
}

// boundedWriter gives each write its own deadline, and Handle the engine's options.
type boundedWriter struct {
	gin.ResponseWriter
	opts *Options
}

func (w boundedWriter) Write(p []byte) (int, error) {
	w.bound()
	return w.ResponseWriter.Write(p)
}

func (w boundedWriter) WriteString(s string) (int, error) {
	w.bound()
	return w.ResponseWriter.WriteString(s)
}

func (w boundedWriter) Flush() {
	w.bound()
	w.ResponseWriter.Flush()
}

func (w boundedWriter) bound() {
	// A recorder of a test has no deadline to set.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.opts.WriteTimeout))
}

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
