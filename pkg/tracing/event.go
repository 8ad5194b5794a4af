package tracing

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Event records that something happened in the work of ctx, and the error, which must not be nil. args alternates names
// and values, here and in Set.
func Event(ctx context.Context, name string, err error, args ...any) {
	if span := recorded(ctx); span != nil {
		attrs := append(attributes(args), attribute.String("error", err.Error()))
		span.AddEvent(name, trace.WithAttributes(attrs...))
	}
}

// Set adds attributes to the work of ctx.
func Set(ctx context.Context, args ...any) {
	if span := recorded(ctx); span != nil {
		span.SetAttributes(attributes(args)...)
	}
}

// attributes returns args, alternately names and values, as attributes of strings.
func attributes(args []any) []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, len(args)/2+1)
	for i := 0; i+1 < len(args); i += 2 {
		attrs = append(attrs, attribute.String(fmt.Sprint(args[i]), fmt.Sprint(args[i+1])))
	}
	return attrs
}

// TraceID returns the id of the trace that ctx belongs to, even if it is not recorded, or "".
func TraceID(ctx context.Context) string {
	if !enabled.Load() {
		return ""
	}
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		return sc.TraceID().String()
	}
	return ""
}
