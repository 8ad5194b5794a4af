// Package observe lets people follow a request: by its id and its logger, which its context carries, and by events for
// the tracing of the process. A package that uses it, such as a domain, links no OpenTelemetry. Package tracing has the
// Recorder of the services.
package observe

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"iter"
	"log/slog"
	"strings"
	"sync"
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
	// Begin begins the span of one step that began at that time, below the span of ctx.
	Begin(ctx context.Context, name string, began time.Time) (work context.Context, step Span)
	// Resume begins the span of work that continues the trace of an earlier request, given by its Parent, with a link to
	// it. It is not recorded if that request was not.
	Resume(ctx context.Context, parent, name string) (work context.Context, step Span)
	// Together begins the span of work that serves several callers at once, given by their contexts. The span belongs to
	// the trace of the first recorded caller. It links to the span of each recorded caller, and each of these links to it.
	// If no caller is recorded, the work is not recorded either. began is when the work began, which may be before its
	// callers were known.
	Together(ctx context.Context, name string, began time.Time, callers iter.Seq[context.Context]) (
		work context.Context, step Span)
	// Part begins the span of one caller's part of a shared request: a child of the caller's span, whose Parent came with
	// the part, linked to the request's. If the caller's trace is not sampled, its part is not recorded, even if the
	// request's own span is.
	Part(ctx context.Context, parent, name string) (work context.Context, step Span)
}

// Span is work in progress. End ends it, with its error if there is one, and adds attributes, alternately names and
// values. A Recorder returns nil for work that is not recorded.
type Span interface {
	End(err error, attrs ...string)
}

// Step is one step in progress, or other work with a span. Callers must End it once. Work that is not recorded
// allocates nothing.
type Step struct{ span Span }

// End is Span.End.
func (s Step) End(err error, attrs ...string) {
	if s.span != nil {
		s.span.End(err, append([]string(nil), attrs...)...) // the copy keeps the caller's slice on its stack
	}
}

// Begin begins a step now.
func Begin(ctx context.Context, name string) (work context.Context, step Step) {
	if r := present.Load(); r != nil {
		ctx, step.span = (*r).Begin(ctx, name, time.Now())
	}
	return ctx, step
}

// Began is Recorder.Begin.
func Began(ctx context.Context, name string, at time.Time) (work context.Context, step Step) {
	if r := present.Load(); r != nil {
		ctx, step.span = (*r).Begin(ctx, name, at)
	}
	return ctx, step
}

// Resume is Recorder.Resume.
func Resume(ctx context.Context, parent, name string) (work context.Context, step Step) {
	if r := present.Load(); r != nil {
		ctx, step.span = (*r).Resume(ctx, parent, name)
	}
	return ctx, step
}

// Together is Recorder.Together.
func Together(
	ctx context.Context, name string, began time.Time, callers iter.Seq[context.Context],
) (work context.Context, step Step) {
	if r := present.Load(); r != nil {
		ctx, step.span = (*r).Together(ctx, name, began, callers)
	}
	return ctx, step
}

// Part is Recorder.Part.
func Part(ctx context.Context, parent, name string) (work context.Context, step Step) {
	if r := present.Load(); r != nil {
		ctx, step.span = (*r).Part(ctx, parent, name)
	}
	return ctx, step
}

var present atomic.Pointer[Recorder]

// Use makes r the recorder of the process.
func Use(r Recorder) { present.Store(&r) }

// Event is Recorder.Event. args alternates names and values.
func Event(ctx context.Context, name string, err error, args ...any) {
	if r := present.Load(); r != nil {
		(*r).Event(ctx, name, err, args...)
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

const (
	// HeaderID names the header that carries the request id from service to service.
	HeaderID = "X-Request-Id"
	// HeaderTimeout names the header with the time that the caller waits, in milliseconds. It is a duration, so that the
	// two clocks need not agree.
	HeaderTimeout = "X-Request-Timeout-Ms"
)

// request is the part of a request that its context carries.
type request struct {
	id  string
	log *slog.Logger

	mu    sync.Mutex
	attrs []any
	built *slog.Logger
}

type key struct{}

// WithRequest returns a context for the request with that id, whose log lines go to log. It replaces an id that is not
// valid: see ValidID.
func WithRequest(ctx context.Context, log *slog.Logger, id string) context.Context {
	if !ValidID(id) {
		id = newID()
	}
	return context.WithValue(ctx, key{}, &request{id: id, log: log})
}

// WithPart returns a context for a part of the request that ctx belongs to, if the part came with its own id. Otherwise
// it returns ctx.
func WithPart(ctx context.Context, id string) context.Context {
	r, ok := ctx.Value(key{}).(*request)
	if !ok || !ValidID(id) {
		return ctx
	}
	return WithRequest(ctx, r.log, id)
}

// RequestID returns the id of the request that ctx belongs to, or "".
func RequestID(ctx context.Context) string {
	if r, ok := ctx.Value(key{}).(*request); ok {
		return r.id
	}
	return ""
}

// Logger returns the logger of the request that ctx belongs to: its lines carry the request id, the trace id if there
// is a trace, and the attributes of AddAttrs. Outside a request it is slog's default.
func Logger(ctx context.Context) *slog.Logger {
	log := slog.Default()
	if r, ok := ctx.Value(key{}).(*request); ok {
		log = r.logger()
	}
	if id := TraceID(ctx); id != "" {
		log = log.With("trace_id", id)
	}
	return log
}

func (r *request) logger() *slog.Logger {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.built == nil {
		r.built = r.log.With(append([]any{"request_id", r.id}, r.attrs...)...)
	}
	return r.built
}

// AddAttrs adds attributes, such as the order id, to every later line of the request's logger, and to its span. It
// costs nothing until a line is written. args alternates names and values.
func AddAttrs(ctx context.Context, args ...any) {
	if r := present.Load(); r != nil {
		(*r).Set(ctx, args...)
	}
	if r, ok := ctx.Value(key{}).(*request); ok {
		r.mu.Lock()
		r.attrs = append(r.attrs, args...)
		r.built = nil
		r.mu.Unlock()
	}
}

func newID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// ValidID reports whether an id from outside, such as a request id or an operation flag, is harmless in a log, a header
// and a database: 1 to 64 letters, digits, dashes and underscores.
func ValidID(id string) bool {
	const chars = "-_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	return id != "" && len(id) <= 64 && strings.Trim(id, chars) == ""
}
