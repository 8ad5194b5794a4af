package tracing

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"orderstock/pkg/observe"
)

// scope tells this project's spans from the libraries'.
const scope = "orderstock"

// The attributes that the project's own spans carry, beside those of OpenTelemetry's conventions.
const (
	// OrderKey is the order id of a span of an order; FlagKey, in the stock service, the operation flag.
	OrderKey = "order_id"
	FlagKey  = "flag"
	// TokenKey is the fencing token of a lock that was acquired.
	TokenKey = "token"
	// SizeKey is how many callers a span serves that serves several.
	SizeKey = "callers"
	// PausedEvent says that the process did not run for PausedKey milliseconds from the event's time on.
	PausedEvent = "paused"
	PausedKey   = "paused_ms"
)

// enabled spares a process that records nothing the search for a span in each context.
var enabled atomic.Bool

// Enable lets the functions of this package and of package observe record from now on. Whoever sets up a provider of
// spans calls it.
func Enable() {
	enabled.Store(true)
	observe.Use(recorder{})
}

// On reports whether the work of ctx is recorded.
func On(ctx context.Context) bool { return enabled.Load() && trace.SpanFromContext(ctx).IsRecording() }

// Step begins the span of one step. Callers must call end once, with the step's error.
func Step(ctx context.Context, name string, attrs ...attribute.KeyValue) (_ context.Context, end func(error)) {
	if !On(ctx) {
		return ctx, notRecorded
	}
	ctx, span := tracer(ctx).Start(ctx, name, trace.WithAttributes(attrs...))
	began := time.Now()
	return ctx, func(err error) { finish(span, began, err) }
}

func notRecorded(error) {}

// Past records a step that began at that time and has just ended.
func Past(ctx context.Context, name string, began time.Time, err error, attrs ...attribute.KeyValue) {
	if On(ctx) {
		_, span := tracer(ctx).Start(ctx, name, trace.WithTimestamp(began), trace.WithAttributes(attrs...))
		finish(span, began, err)
	}
}

// Set adds attributes to the span of ctx.
func Set(ctx context.Context, attrs ...attribute.KeyValue) {
	if On(ctx) {
		trace.SpanFromContext(ctx).SetAttributes(attrs...)
	}
}

// tracer makes spans of the provider that made the span of ctx.
func tracer(ctx context.Context) trace.Tracer {
	return trace.SpanFromContext(ctx).TracerProvider().Tracer(scope)
}

// End ends a span, with its error if there is one.
func End(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

func finish(span trace.Span, began time.Time, err error) {
	for _, p := range pauses.since(began) {
		span.AddEvent(PausedEvent, trace.WithTimestamp(p.from),
			trace.WithAttributes(attribute.Int64(PausedKey, p.took.Milliseconds())))
	}
	End(span, err)
}
