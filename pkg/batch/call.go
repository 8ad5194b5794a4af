package batch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
)

// Call is one caller's part of a batch.
type Call[In, Out any] struct {
	// In is the argument of Do.
	In In

	ctx              context.Context // the caller's
	taken, withdrawn bool            // guarded by the queue's mutex

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

var (
	// ErrFull is returned by Do at once if the queue is full.
	ErrFull = errors.New("batch: queue full")
	// ErrWithdrawn is returned by Do, together with the context's error, if the context ended before a batch took the
	// call: nothing was or will be done for it. A context error without ErrWithdrawn means that a batch has taken the
	// call, and that its outcome is unknown.
	ErrWithdrawn = errors.New("batch: withdrawn before it was taken")
	// ErrClosed is returned by Do after Close.
	ErrClosed = errors.New("batch: closed")
	// ErrUnresolved answers a call that the batch's function left unanswered.
	ErrUnresolved = errors.New("batch: call left without an answer")
	// ErrPanic answers the calls of a batch whose function panicked.
	ErrPanic = errors.New("batch: panic while the batch ran")
)

// Errors are the errors that a caller of Do maps its failures to.
type Errors struct {
	// Full: the queue was full, and nothing was done.
	Full error
	// Undone: nothing was or will be done.
	Undone error
	// Unknown: a batch took the call, and its outcome is unknown.
	Unknown error
}

// Of wraps err, which Do returned for ctx, in Full, Undone or Unknown. It returns
// nil, and an error from the batch, unchanged.
func (e Errors) Of(ctx context.Context, err error) error {
	meaning := e.Unknown
	switch {
	case errors.Is(err, ErrFull):
		meaning = e.Full
	case errors.Is(err, ErrWithdrawn), errors.Is(err, ErrClosed):
		meaning = e.Undone
	case errors.Is(err, ErrUnresolved), errors.Is(err, ErrPanic),
		err != nil && err == ctx.Err(): //nolint:errorlint // the bare error is Do's; a wrapped one is the batch's
	default:
		return err
	}
	return fmt.Errorf("%w: %w", meaning, err)
}
