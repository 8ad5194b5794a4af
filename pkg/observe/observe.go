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
	// Together begins a span of work for several callers at once, given by their contexts, at the time began. Callers must
	// call end once.
	Together(ctx context.Context, name string, began time.Time, callers iter.Seq[context.Context]) (
		work context.Context, end func(error))
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

// Together is Recorder.Together. Without a recorder it returns ctx.
func Together(ctx context.Context, name string, began time.Time, callers iter.Seq[context.Context]) (
	work context.Context, end func(error),
) {
	if r := present.Load(); r != nil {
		return (*r).Together(ctx, name, began, callers)
	}
	return ctx, func(error) {}
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

// WithRequest returns a context for the request with that id, whose log lines go to log. It replaces an invalid id:
// an id has 1 to 64 letters, digits, dashes and underscores.
func WithRequest(ctx context.Context, log *slog.Logger, id string) context.Context {
	if !valid(id) {
		id = newID()
	}
	return context.WithValue(ctx, key{}, &request{id: id, log: log})
}

// WithPart returns a context for a part of the request that ctx belongs to, if the part came with its own id. Otherwise
// it returns ctx.
func WithPart(ctx context.Context, id string) context.Context {
	r, ok := ctx.Value(key{}).(*request)
	if !ok || !valid(id) {
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

// valid reports whether an id from outside is harmless in a log and a header.
func valid(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for _, r := range []byte(id) {
		if (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_' {
			return false
		}
	}
	return true
}
