package batch

import (
	"context"
	"iter"
	"sync"
)

// Call is one caller's part of a batch.
type Call[In, Out any] struct {
	// In is the argument of Do.
	In In

	ctx              context.Context // the caller's
	taken, withdrawn bool            // guarded by the group's mutex

	once     sync.Once
	out      Out
	err      error
	answered chan struct{}
}

// Context returns the caller's context, for its values and deadline. The work of a batch must not end with it.
func (c *Call[In, Out]) Context() context.Context { return c.ctx }

// Contexts returns the contexts of the callers, in the order of the calls.
func Contexts[In, Out any](calls []*Call[In, Out]) iter.Seq[context.Context] {
	return func(yield func(context.Context) bool) {
		for _, call := range calls {
			if !yield(call.ctx) {
				return
			}
		}
	}
}

// Resolve answers the caller. Only the first answer counts. Safe for concurrent use.
func (c *Call[In, Out]) Resolve(out Out, err error) {
	c.once.Do(func() {
		c.out, c.err = out, err
		close(c.answered)
	})
}
