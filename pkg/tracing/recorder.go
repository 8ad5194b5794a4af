package tracing

import (
	"context"
	"fmt"
	"iter"
	"time"

	"go.opentelemetry.io/otel"
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
	// SizeKey is the number of callers that a shared span serves.
	SizeKey = "callers"
	// pausedEvent means that the process did not run for pausedKey milliseconds from the event's time on.
	pausedEvent = "paused"
	pausedKey   = "paused_ms"
)

// Enable makes package observe record from now on. Call it once a provider of spans is set.
func Enable() { observe.Use(recorder{}) }

// On reports whether the work of ctx is recorded.
func On(ctx context.Context) bool { return recorded(ctx) != nil }

// recorded returns the span of ctx, or nil if the work of ctx is not recorded.
func recorded(ctx context.Context) trace.Span {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		return span
	}
	return nil
}

// tracer makes spans of the provider that made span.
func tracer(span trace.Span) trace.Tracer { return span.TracerProvider().Tracer(scope) }

// recorder records the work of packages that link no OpenTelemetry.
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
func attributes[T any](args []T) []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, len(args)/2+1)
	for i := 0; i+1 < len(args); i += 2 {
		attrs = append(attrs, attribute.String(fmt.Sprint(args[i]), fmt.Sprint(args[i+1])))
	}
	return attrs
}

// Parent implements observe.Recorder.
func (recorder) Parent(ctx context.Context) string {
	if span := recorded(ctx); span != nil {
		return Format(span.SpanContext())
	}
	return ""
}

// TraceID implements observe.Recorder.
func (recorder) TraceID(ctx context.Context) string {
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		return sc.TraceID().String()
	}
	return ""
}

// Begin implements observe.Recorder.
func (recorder) Begin(ctx context.Context, name string, began time.Time) (context.Context, observe.Span) {
	above := recorded(ctx)
	if above == nil {
		return ctx, nil
	}
	ctx, span := tracer(above).Start(ctx, name, trace.WithTimestamp(began))
	return ctx, step{span, began}
}

// Resume implements observe.Recorder.
func (recorder) Resume(ctx context.Context, parent, name string) (context.Context, observe.Span) {
	first := Parse(parent)
	if !first.IsSampled() {
		return ctx, nil
	}
	ctx, span := otel.Tracer(scope).Start(trace.ContextWithRemoteSpanContext(ctx, first), name,
		trace.WithLinks(trace.Link{SpanContext: first}))
	return ctx, step{span, time.Now()}
}

// Together implements observe.Recorder.
func (recorder) Together(
	ctx context.Context, name string, began time.Time, callers iter.Seq[context.Context],
) (context.Context, observe.Span) {
	var served []trace.Span
	all := 0
	for caller := range callers {
		all++
		if span := recorded(caller); span != nil {
			served = append(served, span)
		}
	}
	if len(served) == 0 {
		return ctx, nil
	}
	links := make([]trace.Link, len(served))
	for i, span := range served {
		links[i].SpanContext = span.SpanContext()
	}
	ctx, work := tracer(served[0]).Start(trace.ContextWithSpan(ctx, served[0]), name,
		trace.WithTimestamp(began), trace.WithLinks(links...), trace.WithAttributes(attribute.Int(SizeKey, all)))
	for _, span := range served {
		span.AddLink(trace.Link{SpanContext: work.SpanContext()})
	}
	return ctx, step{work, began}
}

// Part implements observe.Recorder.
func (recorder) Part(ctx context.Context, parent, name string) (context.Context, observe.Span) {
	request := recorded(ctx)
	if request == nil {
		return ctx, nil
	}
	caller := Parse(parent)
	ctx = trace.ContextWithRemoteSpanContext(ctx, caller)
	if !caller.IsSampled() {
		return ctx, nil
	}
	ctx, span := tracer(request).Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithLinks(trace.Link{SpanContext: request.SpanContext()}))
	return ctx, step{span, time.Now()}
}

// step is a step in progress.
type step struct {
	span  trace.Span
	began time.Time
}

// End implements observe.Span.
func (s step) End(err error, attrs ...string) {
	s.span.SetAttributes(attributes(attrs)...)
	for _, p := range pauses.since(s.began) {
		s.span.AddEvent(pausedEvent, trace.WithTimestamp(p.from),
			trace.WithAttributes(attribute.Int64(pausedKey, p.took.Milliseconds())))
	}
	if err != nil {
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End()
}
