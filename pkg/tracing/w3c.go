package tracing

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Header is the name of W3C's header.
const Header = "traceparent"

var w3c propagation.TraceContext

// Parent returns the span of ctx as the value of W3C's traceparent header, or "" if ctx is not recorded.
func Parent(ctx context.Context) string {
	if span := recorded(ctx); span != nil {
		return Format(span.SpanContext())
	}
	return ""
}

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
