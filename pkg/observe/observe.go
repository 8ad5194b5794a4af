// Package observe lets people follow a request: by its id and its logger, which its context carries, and by events for
// the tracing of the process. A package that uses it, such as a domain, links no OpenTelemetry. Package tracing has the
// Recorder of the services.
package observe

import (
	"context"
	"iter"
	"sync/atomic"
	"time"
)

// Recorder records the work of a context. Its methods are no-ops for work that is not traced. They are safe for
// concurrent use.
type Recorder interface {
	// Event records that something happened, and the error, which must not be nil.
	Event(ctx context.Context, name string, err error, args ...any)
	// Set adds attributes to the work of ctx.
	Set(ctx context.Context, args ...any)
	// Parent returns the span of ctx as the value of W3C's traceparent header, or "".
	Parent(ctx context.Context) string
	// TraceID returns the id of the trace that ctx belongs to, or "".
	TraceID(ctx context.Context) string
	// Together begins a span of work for several callers at once, given by their contexts, at the time began. Callers must
	// call end once.
	Together(ctx context.Context, name string, began time.Time, callers iter.Seq[context.Context]) (
		work context.Context, end func(error))
}

var present atomic.Pointer[Recorder]

// Use makes r the recorder of the process.
func Use(r Recorder) { present.Store(&r) }

// Event is Recorder.Event. args alternates names and values, here and in Set.
func Event(ctx context.Context, name string, err error, args ...any) {
	if r := present.Load(); r != nil {
		(*r).Event(ctx, name, err, args...)
	}
}

// Set is Recorder.Set.
func Set(ctx context.Context, args ...any) {
	if r := present.Load(); r != nil {
		(*r).Set(ctx, args...)
	}
}

// TraceID is Recorder.TraceID.
func TraceID(ctx context.Context) string {
	if r := present.Load(); r != nil {
		return (*r).TraceID(ctx)
	}
	return ""
}

// Parent is Recorder.Parent.
func Parent(ctx context.Context) string {
	if r := present.Load(); r != nil {
		return (*r).Parent(ctx)
	}
	return ""
}

// Together is Recorder.Together. Without a recorder it returns ctx.
func Together(ctx context.Context, name string, began time.Time, callers iter.Seq[context.Context]) (
	work context.Context, end func(error),
) {
	if r := present.Load(); r != nil {
		return (*r).Together(ctx, name, began, callers)
	}
	return ctx, func(error) {}
}
