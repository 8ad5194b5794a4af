package tracing

import (
	"context"
	"encoding/hex"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// Header is the name of W3C's header.
const Header = "traceparent"

// Parent returns the span of ctx as the value of W3C's traceparent header, or "" if ctx is not recorded.
func Parent(ctx context.Context) string {
	if span := recorded(ctx); span != nil {
		return Format(span.SpanContext())
	}
	return ""
}

// Format returns sc as the value of W3C's traceparent header.
func Format(sc trace.SpanContext) string { return string(Append(nil, sc)) }

// Append appends Format(sc) to b.
func Append(b []byte, sc trace.SpanContext) []byte {
	traceID, spanID := sc.TraceID(), sc.SpanID()
	b = hex.AppendEncode(append(b, "00-"...), traceID[:])
	b = hex.AppendEncode(append(b, '-'), spanID[:])
	return hex.AppendEncode(append(b, '-'), []byte{byte(sc.TraceFlags())})
}

// Parse reads the value of a traceparent header. It returns the zero SpanContext, which is not valid, for a
// malformed value.
func Parse(traceparent string) trace.SpanContext {
	fields := strings.Split(traceparent, "-")
	if len(fields) < 4 || len(fields[0]) != 2 || len(fields[3]) != 2 || fields[0] == "ff" {
		return trace.SpanContext{}
	}
	id, err := trace.TraceIDFromHex(fields[1])
	if err != nil {
		return trace.SpanContext{}
	}
	span, err := trace.SpanIDFromHex(fields[2])
	if err != nil {
		return trace.SpanContext{}
	}
	var flags trace.TraceFlags
	if strings.ContainsAny(fields[3][1:], "13579bdf") {
		flags = trace.FlagsSampled
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: flags, Remote: true})
}
