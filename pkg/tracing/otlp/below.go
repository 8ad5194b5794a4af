package otlp

import (
	"context"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"orderstock/pkg/tracing"
)

// below is a provider for libraries that make spans of all they do: theirs are recorded below a span
// that is recorded, and begin no trace.
type below struct{ embedded.TracerProvider }

func (below) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	return belowTracer{name: name, opts: opts}
}

type belowTracer struct {
	embedded.Tracer
	name string
	opts []trace.TracerOption
}

func (t belowTracer) Start(
	ctx context.Context, name string, opts ...trace.SpanStartOption,
) (context.Context, trace.Span) {
	if !tracing.On(ctx) {
		return ctx, noop.Span{}
	}
	return trace.SpanFromContext(ctx).TracerProvider().Tracer(t.name, t.opts...).Start(ctx, name, opts...)
}
