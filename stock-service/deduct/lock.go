package deduct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"orderstock/pkg/operation"
	"orderstock/pkg/tracing"
)

// Lock is a held lock.
type Lock struct {
	// Token fences the writes under the lock; it is zero if the lock has none.
	Token operation.Token
	// Alive ends when the lock is lost or released; it is nil if the lock cannot detect a loss.
	Alive context.Context
	// Release gives the lock up.
	Release func(context.Context) error
	// Wanted returns nil when another process waits for the lock, and an error when its context or the lock ends; nil if
	// the lock cannot tell.
	Wanted func(context.Context) error
}

// Acquire takes a lock, or fails when ctx ends.
type Acquire func(ctx context.Context) (Lock, error)

// record adds a step with the lock, from the given time until now, to the trace of ctx, if it has one.
func (l Lock) record(ctx context.Context, step string, began time.Time, err error) {
	if tracing.On(ctx) {
		tracing.Past(ctx, step, began, err, attribute.String(tracing.TokenKey, l.Token.String()))
	}
}

// locker takes locks and releases them.
type locker struct {
	timeout time.Duration
	log     *slog.Logger
	wrap    func(Acquire) Acquire // nil or Config.WrapLock
	metrics lockMetrics
}

func newLocker(cfg Config) locker {
	return locker{cmp.Or(cfg.LockTimeout, DefaultLockTimeout), cfg.Log, cfg.WrapLock, newLockMetrics(cfg.Metrics)}
}

// take acquires one lock within ctx. Its error is ErrUnavailable or operation.ErrLocked: nothing changed.
func (l *locker) take(ctx context.Context, acquire Acquire) (Lock, error) {
	if l.wrap != nil {
		acquire = l.wrap(acquire)
	}
	asked := time.Now()
	l.metrics.waiting.Inc()
	lock, err := acquire(ctx)
	l.metrics.waiting.Dec()
	lock.record(ctx, "acquire-lock", asked, err)
	if err != nil {
		l.metrics.failures.Inc()
		if errors.Is(err, operation.ErrLocked) {
			return Lock{}, fmt.Errorf("acquire lock: %w", err)
		}
		return Lock{}, fmt.Errorf("%w: acquire lock: %w", operation.ErrUnavailable, err)
	}
	l.metrics.wait.Observe(time.Since(asked).Seconds())
	return lock, nil
}

// takeAll acquires all locks, in their order and within the lock timeout, or none.
func (l *locker) takeAll(ctx context.Context, acquires []Acquire) ([]Lock, error) {
	limited, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	locks := make([]Lock, 0, len(acquires))
	for _, acquire := range acquires {
		lock, err := l.take(limited, acquire)
		if err != nil {
			l.release(ctx, locks)
			return nil, err
		}
		locks = append(locks, lock)
	}
	return locks, nil
}

// releaseLimit bounds a release. The caller's context does not, as it may be over.
const releaseLimit = 2 * time.Second

// release releases the locks, the last first. A failure is only logged: the transaction under the locks has ended in
// any case.
func (l *locker) release(ctx context.Context, locks []Lock) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
	defer cancel()
	for i := len(locks) - 1; i >= 0; i-- {
		began := time.Now()
		err := locks[i].Release(ctx)
		locks[i].record(ctx, "release-lock", began, err)
		if err != nil {
			l.log.Warn("lock not released; it ends with its session", "error", err)
		}
	}
}

var errLockLost = errors.New("lock lost")

// whileHeld returns a context that ends with ctx, or as soon as one of the locks is lost. A transaction under it is
// then rolled back.
func whileHeld(ctx context.Context, locks ...Lock) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var stops []func() bool
	for _, lock := range locks {
		if lock.Alive != nil {
			stops = append(stops, context.AfterFunc(lock.Alive, func() { cancel(errLockLost) }))
		}
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel(nil)
	}
}
