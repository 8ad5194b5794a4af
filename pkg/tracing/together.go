package tracing

import (
	"context"
	"iter"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Together begins the span of work that serves several callers at once, whose contexts are callers. The
// span belongs to the trace of the first caller that is recorded. It links to the span of each recorded
// caller, and each of these links to it. If no caller is recorded, the work is not recorded either. Began
// is when the work began, which may be before its callers were known.
//
// The context is ctx with the span. Callers must call end once.
func Together(
	ctx context.Context, name string, began time.Time, callers iter.Seq[context.Context], attrs ...attribute.KeyValue,
) (_ context.Context, end func(error)) {
	if !enabled.Load() {
		return ctx, notRecorded
	}
	var served []trace.Span
	all := 0
	for caller := range callers {
		all++
		if span := trace.SpanFromContext(caller); span.IsRecording() {
			served = append(served, span)
		}
	}
	if len(served) == 0 {
		return ctx, notRecorded
	}
	links := make([]trace.Link, len(served))
	for i, span := range served {
		links[i].SpanContext = span.SpanContext()
	}
	ctx, work := served[0].TracerProvider().Tracer(scope).Start(trace.ContextWithSpan(ctx, served[0]), name,
		trace.WithTimestamp(began), trace.WithLinks(links...),
		trace.WithAttributes(append(attrs, attribute.Int(SizeKey, all))...))
	for _, span := range served {
		span.AddLink(trace.Link{SpanContext: work.SpanContext()})
	}
	return ctx, func(err error) { finish(work, began, err) }
}

// Part begins the span of one caller's part of a request that carries the parts of several: a child of
// the caller's own span, whose W3C trace context came with the part, and linked to the request's. If the
// caller's trace is not sampled, its part is not recorded, whatever the request's own span is.
func Part(ctx context.Context, name, parent string, attrs ...attribute.KeyValue) (_ context.Context, end func(error)) {
	if !On(ctx) {
		return ctx, notRecorded
	}
	request := trace.SpanFromContext(ctx)
	caller := Parse(parent)
	ctx = trace.ContextWithRemoteSpanContext(ctx, caller)
	if !caller.IsSampled() {
		return ctx, notRecorded
	}
	began := time.Now()
	ctx, part := request.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithLinks(trace.Link{SpanContext: request.SpanContext()}), trace.WithAttributes(attrs...))
	return ctx, func(err error) { finish(part, began, err) }
}
