package observe

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"sync"
)

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
	Set(ctx, args...)
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
