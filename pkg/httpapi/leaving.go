package httpapi

import (
	"context"
	"sync/atomic"
)

type leavingKey struct{}

// withLeaving returns a context for a server's requests, and a function after which leaving is true for them.
func withLeaving() (ctx context.Context, leave func()) {
	var begun atomic.Bool
	return context.WithValue(context.Background(), leavingKey{}, &begun), func() { begun.Store(true) }
}

// leaving reports whether the server of the request that ctx belongs to is about to close its port.
func leaving(ctx context.Context) bool {
	begun, ok := ctx.Value(leavingKey{}).(*atomic.Bool)
	return ok && begun.Load()
}
