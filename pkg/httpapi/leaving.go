package httpapi

import (
	"context"
	"sync/atomic"
)

type leavingKey struct{}

// withLeaving returns a context for a server's requests, which does not end with ctx, and a function after which
// leaving is true for them.
func withLeaving(ctx context.Context) (requests context.Context, leave func()) {
	var begun atomic.Bool
	return context.WithValue(context.WithoutCancel(ctx), leavingKey{}, &begun), func() { begun.Store(true) }
}

// leaving reports whether the server of the request that ctx belongs to is about to close its port.
func leaving(ctx context.Context) bool {
	begun, ok := ctx.Value(leavingKey{}).(*atomic.Bool)
	return ok && begun.Load()
}
