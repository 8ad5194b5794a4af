package batch

import (
	"context"
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

// Context returns the caller's context, for its values and deadline. The work of
// a batch must not end with it.
func (c *Call[In, Out]) Context() context.Context { return c.ctx }

// Resolve answers the caller. Only the first answer counts. Safe for concurrent use.
func (c *Call[In, Out]) Resolve(out Out, err error) {
	c.once.Do(func() {
		c.out, c.err = out, err
		close(c.answered)
	})
}
