package otlp

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"net/http"
	"strings"

	"github.com/XSAM/otelsql"
	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"orderstock/pkg/tracing"
)

// Handler records each request of h whose path begins with /v1/, in the trace that it came with or, as the
// sampler decides, in a new one. h names the span.
func (e *Exporter) Handler(h http.Handler) http.Handler {
	if e == nil {
		return h
	}
	traced := otelhttp.NewHandler(h, "",
		otelhttp.WithFilter(func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v1/") }),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return r.Method + " " + r.URL.Path }))
	if !e.followsParent {
		return traced
	}
	// A request whose trace is not sampled is not recorded. Its context gets only the trace's id, for the log.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch parent := tracing.Parse(r.Header.Get(tracing.Header)); {
		case parent.IsSampled() || !parent.IsValid() && !e.beginsNone:
			traced.ServeHTTP(w, r)
		case parent.IsValid():
			h.ServeHTTP(w, r.WithContext(trace.ContextWithRemoteSpanContext(r.Context(), parent)))
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// Transport records requests below a span and sends its trace context. A request that is below none says
// so to the service that it goes to, which would begin a trace otherwise.
func (e *Exporter) Transport(rt http.RoundTripper) http.RoundTripper {
	if e == nil {
		return rt
	}
	return &transport{
		rt: rt, traced: otelhttp.NewTransport(rt,
			otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return r.Method + " " + r.URL.Path })),
	}
}

type transport struct {
	rt, traced http.RoundTripper
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if tracing.On(r.Context()) {
		return t.traced.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	r.Header.Set(tracing.Header, untraced(r.Context()))
	return t.rt.RoundTrip(r)
}

// CloseIdleConnections is called by http.Client.CloseIdleConnections.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// untraced returns a trace context that is not sampled: the one in ctx, so that log lines agree, or a new one.
func untraced(ctx context.Context) string {
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		return tracing.Format(sc)
	}
	var ids keyedIDs
	traceID, spanID := ids.NewIDs(ctx)
	return tracing.Format(trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID}))
}

// OpenDB returns a function that opens a pool of connections whose statements are recorded: one that
// begins with one of the prefixes under the name of its step, any other under its first two words. It
// returns sql.OpenDB if tracing is off.
func (e *Exporter) OpenDB(steps map[string]string) func(driver.Connector) *sql.DB {
	if e == nil {
		return sql.OpenDB
	}
	name := func(_ context.Context, method otelsql.Method, query string) string {
		for prefix, step := range steps {
			if strings.HasPrefix(query, prefix) {
				return step
			}
		}
		switch {
		case method == otelsql.MethodTxCommit:
			return "commit"
		case query != "":
			return "sql " + summary(query)
		}
		return string(method)
	}
	return func(c driver.Connector) *sql.DB {
		return otelsql.OpenDB(c,
			otelsql.WithTracerProvider(below{}), otelsql.WithSpanNameFormatter(name),
			otelsql.WithAttributes(attribute.String("db.system.name", "mysql")),
			otelsql.WithSpanOptions(otelsql.SpanOptions{
				// Statements hold the values of hundreds of orders: too long, and not for everybody.
				DisableQuery: true, OmitConnResetSession: true, OmitRows: true, OmitConnPrepare: true, DisableErrSkip: true,
				SpanFilter: func(ctx context.Context, m otelsql.Method, _ string, _ []driver.NamedValue) bool {
					return m != otelsql.MethodConnBeginTx && tracing.On(ctx)
				},
			}))
	}
}

// summary returns the statement's verb and its table.
func summary(query string) string {
	words := strings.Fields(query[:min(len(query), 300)])
	for i, word := range words[:max(len(words)-1, 0)] {
		switch strings.ToUpper(word) {
		case "FROM", "INTO", "UPDATE":
			return words[0] + " " + strings.Trim(words[i+1], "`")
		}
	}
	return words[0]
}

// Redis records the commands of client.
func (e *Exporter) Redis(client redis.UniversalClient) error {
	if e == nil {
		return nil
	}
	return redisotel.InstrumentTracing(client, redisotel.WithTracerProvider(below{}), redisotel.WithDBStatement(false),
		redisotel.WithCallerEnabled(false))
}
