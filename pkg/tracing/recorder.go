package tracing

import (
	"context"
	"fmt"
	"iter"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"orderstock/pkg/observe"
)

// recorder records the events of packages that link no OpenTelemetry.
type recorder struct{}

var _ observe.Recorder = recorder{}

// Event implements observe.Recorder.
func (recorder) Event(ctx context.Context, name string, err error, args ...any) {
	if span := recorded(ctx); span != nil {
		attrs := append(attributes(args), attribute.String("error", err.Error()))
		span.AddEvent(name, trace.WithAttributes(attrs...))
	}
}

// Set implements observe.Recorder.
func (recorder) Set(ctx context.Context, args ...any) {
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

// Parent implements observe.Recorder.
func (recorder) Parent(ctx context.Context) string { return Parent(ctx) }

// TraceID implements observe.Recorder.
func (recorder) TraceID(ctx context.Context) string {
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		return sc.TraceID().String()
	}
	return ""
}

// Together implements observe.Recorder.
func (recorder) Together(ctx context.Context, name string, began time.Time, callers iter.Seq[context.Context]) (
	context.Context, func(error),
) {
	return Together(ctx, name, began, callers)
}
