package tracing

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"strings"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Handler records each request of h whose path begins with /v1/, in its own trace or, if the sampler decides so, in a
// new one. h names the span.
//
// Recording costs a service up to half of its processor time again, so not everybody may ask for it: a request that
// trusted refuses never decides. It is recorded like a request without a trace, and its span links to the trace that it
// came with.
func (e *Exporter) Handler(h http.Handler, trusted func(*http.Request) bool) http.Handler {
	if e == nil {
		return h
	}
	traced := otelhttp.NewHandler(h, "",
		otelhttp.WithFilter(func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v1/") }),
		otelhttp.WithPublicEndpointFn(func(r *http.Request) bool { return !trusted(r) }),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return r.Method + " " + r.URL.Path }))
	if e.samples == nil {
		return traced
	}
	// A request that is not recorded gets the trace's id alone, for the log and for the calls that it makes.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parent := Parse(r.Header.Get(Header))
		record := parent.IsSampled()
		if !parent.IsValid() || !trusted(r) {
			record = e.samples()
		}
		if record {
			traced.ServeHTTP(w, r)
			return
		}
		if !parent.IsValid() {
			parent = newContext()
		}
		h.ServeHTTP(w, r.WithContext(trace.ContextWithSpanContext(r.Context(), parent.WithTraceFlags(0))))
	})
}

// Transport records requests below a span and sends its trace context. A request without a span sends an unsampled
// context, so that the receiving service does not begin a trace.
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
	if On(r.Context()) {
		return t.traced.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	r.Header.Set(Header, untraced(r.Context()))
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
		return Format(sc)
	}
	return Format(newContext())
}

func newContext() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: NewTraceID(), SpanID: NewSpanID()})
}

// Header is the name of W3C's header.
const Header = "traceparent"

var w3c propagation.TraceContext

// Format returns sc as the value of W3C's traceparent header, or "" if sc is not valid.
func Format(sc trace.SpanContext) string {
	header := propagation.MapCarrier{}
	w3c.Inject(trace.ContextWithSpanContext(nothing, sc), header)
	return header[Header]
}

// Parse reads the value of a traceparent header. It returns the zero SpanContext, which is not valid, for a
// malformed value.
func Parse(traceparent string) trace.SpanContext {
	return trace.SpanContextFromContext(w3c.Extract(nothing, propagation.MapCarrier{Header: traceparent}))
}

// nothing carries values between this package and the propagator alone.
var nothing = context.Background() //nolint:forbidigo // see above

// NewTraceID returns a random id, which is never zero.
func NewTraceID() (id trace.TraceID) {
	binary.BigEndian.PutUint64(id[:8], rand.Uint64()|1)
	binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	return id
}

// NewSpanID returns a random id, which is never zero.
func NewSpanID() (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|1)
	return id
}
