package tracing

import (
	"context"
	"iter"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

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
