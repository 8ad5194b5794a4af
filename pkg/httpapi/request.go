package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"sync"
)

// request is what travels in the context of a request.
type request struct {
	id  string
	log *slog.Logger

	mu    sync.Mutex
	attrs []any
	built *slog.Logger
}

type requestKey struct{}

func withRequest(ctx context.Context, log *slog.Logger, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, &request{id: id, log: log})
}

// WithRequest returns a context for work that no request started, such as a
// round of the reconciler, with an id of its own and a logger.
func WithRequest(ctx context.Context, log *slog.Logger) context.Context {
	return withRequest(ctx, log, newRequestID())
}

// WithRequestID returns a context for a part of the request that ctx belongs to which came with an
// id of its own; a missing or unfit id leaves ctx as it is.
func WithRequestID(ctx context.Context, id string) context.Context {
	r, ok := ctx.Value(requestKey{}).(*request)
	if !ok || !validRequestID(id) {
		return ctx
	}
	return withRequest(ctx, r.log, id)
}

// RequestID returns the id of the request that ctx belongs to, or "".
func RequestID(ctx context.Context) string {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r.id
	}
	return ""
}

// Logger returns the logger of the request that ctx belongs to: its lines
// carry the request id and what AddLogAttrs added. Outside a request it is
// slog's default.
func Logger(ctx context.Context) *slog.Logger {
	r, ok := ctx.Value(requestKey{}).(*request)
	if !ok {
		return slog.Default()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.built == nil {
		r.built = r.log.With(append([]any{"request_id", r.id}, r.attrs...)...)
	}
	return r.built
}

// AddLogAttrs adds attributes, such as the order id, to every line that the
// request's logger writes from now on. It costs nothing until a line is written.
func AddLogAttrs(ctx context.Context, args ...any) {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		r.mu.Lock()
		r.attrs = append(r.attrs, args...)
		r.built = nil
		r.mu.Unlock()
	}
}

func newRequestID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// validRequestID holds foreign ids to what is harmless in a log and a header.
func validRequestID(id string) bool {
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
