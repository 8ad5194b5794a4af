// Package retry repeats a failed call, with growing pauses.
package retry

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v5"

	"orderstock/pkg/observe"
)

// Policy configures the retries.
type Policy struct {
	// First is the pause after the first try. Each further pause is twice as long, up to Max. Each is jittered by up to
	// half its length, so that callers that failed together do not return together.
	First, Max time.Duration
	// Tries bounds the tries. 0: only the context does.
	Tries uint
	// InTime makes Do give up at once instead of beginning a pause that would end after the context's deadline.
	InTime bool
}

// Do calls fn until it returns nil or an error made by Stop, the tries are used up, or ctx ends. It returns the last
// result of fn. If ctx ends, the error wraps ctx's cause, and its text has the last failure of fn before that. If ctx
// is traced, its span has an event for each failed try that is followed by another.
func Do[T any](ctx context.Context, p Policy, fn func() (T, error)) (T, error) {
	answer, err := fn()
	if err != nil { // seldom: what follows costs more than many a call
		return again(ctx, p, fn, answer, err)
	}
	return answer, nil
}

// again goes on after the first try, which returned answer and err.
func again[T any](ctx context.Context, p Policy, fn func() (T, error), answer T, err error) (T, error) {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval, pause.Multiplier = p.First, p.Max, 2
	left := time.Duration(0) // no bound
	if deadline, ok := ctx.Deadline(); ok && p.InTime {
		left = max(time.Until(deadline), 1)
	}
	var last error
	try := func() (T, error) {
		if last != nil {
			answer, err = fn()
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		return answer, err
	}
	answer, err = backoff.Retry(ctx, try,
		backoff.WithBackOff(pause), backoff.WithMaxTries(p.Tries), backoff.WithMaxElapsedTime(left),
		backoff.WithNotify(func(err error, pause time.Duration) {
			observe.Event(ctx, "retry", err, "pause_ms", pause.Milliseconds())
		}))
	if cause := context.Cause(ctx); cause != nil && err == cause && last != cause { //nolint:errorlint // the bare cause
		err = fmt.Errorf("%w (last failure: %v)", cause, last) //nolint:errorlint // callers must not act on it
	}
	return answer, err
}

// Run is Do for a function without a result.
func Run(ctx context.Context, p Policy, fn func() error) error {
	_, err := Do(ctx, p, func() (struct{}, error) { return struct{}{}, fn() })
	return err
}

// Stop wraps an error so that Do gives up and returns err itself. It returns nil for nil.
func Stop(err error) error {
	if err == nil {
		return nil
	}
	return backoff.Permanent(err)
}

// After wraps err so that Do's next pause is d plus up to half of it.
func After(err error, d time.Duration) error {
	return afterError{err, &backoff.RetryAfterError{Duration: d + rand.N(d/2+1)}}
}

// afterError prints as the embedded error alone.
type afterError struct {
	error
	after *backoff.RetryAfterError
}

func (e afterError) Unwrap() []error { return []error{e.error, e.after} }
