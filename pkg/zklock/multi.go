package zklock

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// Multi is several locks that are acquired together or not at all. It sorts them by path and
// takes each once, so that two of them with locks in common cannot wait for each other. All
// should be of one Session. Its methods are safe for concurrent use.
type Multi struct{ mutexes []*Mutex }

// undoTimeout bounds the release of the locks that were acquired when the next was not to be had.
const undoTimeout = 5 * time.Second

// NewMulti returns the lock of all the mutexes.
func NewMulti(mutexes ...*Mutex) *Multi {
	sorted := slices.SortedStableFunc(slices.Values(mutexes), func(a, b *Mutex) int {
		return strings.Compare(a.path, b.path)
	})
	return &Multi{slices.CompactFunc(sorted, func(a, b *Mutex) bool { return a.path == b.path && a.s == b.s })}
}

// Acquire waits for all of the locks until ctx ends: one deadline for the whole. When it fails, it
// has released those that it had.
func (m *Multi) Acquire(ctx context.Context) (*MultiLock, error) { return m.acquire(ctx, false) }

// TryAcquire acquires all of the locks if all are free, and returns ErrNotAcquired at once if
// one is not.
func (m *Multi) TryAcquire(ctx context.Context) (*MultiLock, error) { return m.acquire(ctx, true) }

func (m *Multi) acquire(ctx context.Context, try bool) (*MultiLock, error) {
	ml := &MultiLock{}
	for _, mutex := range m.mutexes {
		lock, err := mutex.acquire(ctx, try)
		if err != nil {
			undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
			defer cancel()
			_ = ml.releaseAll(undo) // they are released in any case; err is what to tell
			return nil, err
		}
		ml.locks = append(ml.locks, lock)
	}
	ml.follow(ctx)
	return ml, nil
}

// MultiLock is one acquisition of a Multi. Its methods are safe for concurrent use.
type MultiLock struct {
	locks []*Lock
	ctx   context.Context //nolint:containedctx // its end is what it is for: see Context
	end   context.CancelCauseFunc
	stops []func() bool
}

// follow makes the context, which ends with the first lock that does.
func (ml *MultiLock) follow(ctx context.Context) {
	ml.ctx, ml.end = context.WithCancelCause(context.WithoutCancel(ctx))
	for _, lock := range ml.locks {
		ml.stops = append(ml.stops, context.AfterFunc(lock.Context(), func() {
			ml.end(context.Cause(lock.Context()))
		}))
	}
}

// Locks returns the handles of the single locks, by rising path. They are released together.
func (ml *MultiLock) Locks() []*Lock { return slices.Clone(ml.locks) }

// Tokens returns the fencing token of each path.
func (ml *MultiLock) Tokens() map[string]Token {
	tokens := make(map[string]Token, len(ml.locks))
	for _, lock := range ml.locks {
		tokens[lock.path] = lock.token
	}
	return tokens
}

// Context returns a context that ends when one of the locks is lost, or all are released; see
// Lock.Context.
func (ml *MultiLock) Context() context.Context { return ml.ctx }

// Release releases all of the locks, the last one first, whatever becomes of the others. Its
// errors are those of Lock.Release, joined.
func (ml *MultiLock) Release(ctx context.Context) error {
	for _, stop := range ml.stops {
		stop()
	}
	ml.end(ErrReleased)
	return ml.releaseAll(ctx)
}

func (ml *MultiLock) releaseAll(ctx context.Context) error {
	var errs []error
	for _, lock := range slices.Backward(ml.locks) {
		errs = append(errs, lock.Release(ctx))
	}
	return errors.Join(errs...)
}
