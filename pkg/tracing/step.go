package tracing

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"orderstock/pkg/observe"
)

// scope distinguishes this project's spans from the libraries'.
const scope = "orderstock"

// The project's attributes, in addition to OpenTelemetry's conventions.
const (
	// OrderKey is the order id of a span of an order; FlagKey, in the stock service, the operation flag.
	OrderKey = "order_id"
	FlagKey  = "flag"
	// TokenKey is the fencing token of a lock that was acquired.
	TokenKey = "token"
	// SizeKey is the number of callers that a shared span serves.
	SizeKey = "callers"
	// pausedEvent means that the process did not run for pausedKey milliseconds from the event's time on.
	pausedEvent = "paused"
	pausedKey   = "paused_ms"
)

// enabled saves a process that records nothing the search for a span in each context.
var enabled atomic.Bool

// Enable makes the functions of this package and of package observe record from now on. Call it once a provider of
// spans is set.
func Enable() {
	enabled.Store(true)
	observe.Use(recorder{})
}

// On reports whether the work of ctx is recorded.
func On(ctx context.Context) bool { return recorded(ctx) != nil }

// recorded returns the span of ctx, or nil if the work of ctx is not recorded.
func recorded(ctx context.Context) trace.Span {
	if !enabled.Load() {
		return nil
	}
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		return span
	}
	return nil
}

// Step begins the span of one step, below the span of ctx. Callers must End it.
func Step(ctx context.Context, name string, attrs ...attribute.KeyValue) (context.Context, Recording) {
	above := recorded(ctx)
	if above == nil {
		return ctx, Recording{}
	}
	ctx, span := tracer(above).Start(ctx, name, trace.WithAttributes(copied(attrs)...))
	return ctx, Recording{span, time.Now()}
}

// Past records a step that began at that time and has just ended.
func Past(ctx context.Context, name string, began time.Time, err error, attrs ...attribute.KeyValue) {
	if above := recorded(ctx); above != nil {
		_, span := tracer(above).Start(ctx, name, trace.WithTimestamp(began), trace.WithAttributes(copied(attrs)...))
		Recording{span, began}.End(err)
	}
}

// A Recording is a step in progress. Methods of the zero Recording, a step that is not recorded, are no-ops.
type Recording struct {
	span  trace.Span // nil: not recorded
	began time.Time
}

// Set adds attributes to the step's span.
func (r Recording) Set(attrs ...attribute.KeyValue) {
	if r.span != nil {
		r.span.SetAttributes(copied(attrs)...)
	}
}

// End ends the step's span, with the step's error if there is one. It must be called once.
func (r Recording) End(err error) {
	if r.span == nil {
		return
	}
	for _, p := range pauses.since(r.began) {
		r.span.AddEvent(pausedEvent, trace.WithTimestamp(p.from),
			trace.WithAttributes(attribute.Int64(pausedKey, p.took.Milliseconds())))
	}
	End(r.span, err)
}

// copied returns a copy of attrs, so that the caller's slice need not be allocated for a step that is not recorded. The
// compiler sees this with append, but not with slices.Clone.
func copied(attrs []attribute.KeyValue) []attribute.KeyValue {
	return append([]attribute.KeyValue(nil), attrs...)
}

// tracer makes spans of the provider that made span.
func tracer(span trace.Span) trace.Tracer { return span.TracerProvider().Tracer(scope) }

// End ends a span, with its error if there is one.
func End(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// Together begins the span of work that serves several callers at once, given by their contexts. The span belongs to
// the trace of the first recorded caller. It links to the span of each recorded caller, and each of these links to it.
// If no caller is recorded, the work is not recorded either. began is when the work began, which may be before its
// callers were known.
//
// The context is ctx with the span. Callers must call end once.
func Together(
	ctx context.Context, name string, began time.Time, callers iter.Seq[context.Context], attrs ...attribute.KeyValue,
) (_ context.Context, end func(error)) {
	if !enabled.Load() {
		return ctx, Recording{}.End
	}
	var served []trace.Span
	all := 0
	for caller := range callers {
		all++
		if span := recorded(caller); span != nil {
			served = append(served, span)
		}
	}
	if len(served) == 0 {
		return ctx, Recording{}.End
	}
	links := make([]trace.Link, len(served))
	for i, span := range served {
		links[i].SpanContext = span.SpanContext()
	}
	ctx, work := tracer(served[0]).Start(trace.ContextWithSpan(ctx, served[0]), name,
		trace.WithTimestamp(began), trace.WithLinks(links...),
		trace.WithAttributes(append(attrs, attribute.Int(SizeKey, all))...))
	for _, span := range served {
		span.AddLink(trace.Link{SpanContext: work.SpanContext()})
	}
	return ctx, Recording{work, began}.End
}

// Part begins the span of one caller's part of a shared request: a child of the caller's span, whose W3C trace context
// came with the part, linked to the request's. If the caller's trace is not sampled, its part is not recorded, even if
// the request's own span is.
func Part(ctx context.Context, name, parent string, attrs ...attribute.KeyValue) (_ context.Context, end func(error)) {
	request := recorded(ctx)
	if request == nil {
		return ctx, Recording{}.End
	}
	caller := Parse(parent)
	ctx = trace.ContextWithRemoteSpanContext(ctx, caller)
	if !caller.IsSampled() {
		return ctx, Recording{}.End
	}
	began := time.Now()
	ctx, part := tracer(request).Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithLinks(trace.Link{SpanContext: request.SpanContext()}), trace.WithAttributes(attrs...))
	return ctx, Recording{part, began}.End
}
