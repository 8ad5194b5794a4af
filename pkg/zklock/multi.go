package zklock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"orderstock/pkg/zklock/internal/conn"
)

// Multi is several locks, of any kinds, that are acquired together or not at all. It sorts them by
// path and takes each once, so that two Multi values with locks in common cannot wait for each other.
// If it is given both sides of an RWMutex, it takes the writer's. All locks should be of one Session.
// Its methods are safe for concurrent use; Do runs a function under it.
type Multi struct{ locks []Locker }

var _ Acquirer[*MultiLock] = (*Multi)(nil)

// NewMulti returns the lock made of locks.
func NewMulti(locks ...Locker) *Multi {
	sorted := slices.SortedStableFunc(slices.Values(locks), func(a, b Locker) int {
		x, y := placeOf(a), placeOf(b)
		return cmp.Or(cmp.Compare(x.path, y.path), cmp.Compare(x.kind, y.kind), cmp.Compare(x.rank, y.rank))
	})
	return &Multi{slices.CompactFunc(sorted, func(a, b Locker) bool {
		x, y := placeOf(a), placeOf(b)
		return x.path == y.path && x.kind == y.kind && x.s == y.s
	})}
}

// lockPlace determines which of several Lockers are the same lock: by path, kind and session. The Locker with
// the lowest rank stands for them all.
type lockPlace struct {
	path string
	kind kind
	rank int
	s    *Session
}

func placeOf(l Locker) lockPlace {
	switch l := l.(type) {
	case *Mutex:
		return lockPlace{l.path, lockKind, 1, l.s}
	case *ReentrantMutex: // its owner may have it
		return lockPlace{l.mutex.path, lockKind, 0, l.mutex.s}
	case *Semaphore:
		return lockPlace{l.path, leaseKind, 0, l.s}
	case side:
		if l.write {
			return lockPlace{l.path, writeKind, 0, l.s}
		}
		return lockPlace{l.path, writeKind, 1, l.s}
	default:
		return lockPlace{path: l.Path()}
	}
}

// acquireFunc is Locker.Acquire or Locker.TryAcquire.
type acquireFunc = func(Locker, context.Context) (*Lock, error)

// Acquire waits for all of the locks until ctx ends: one deadline for the whole. If it fails, it has
// released the acquired ones. If one is lost while it waits for another, it starts over.
func (m *Multi) Acquire(ctx context.Context) (*MultiLock, error) {
	return m.acquire(ctx, Locker.Acquire)
}

// TryAcquire acquires all of the locks if all are free, and returns ErrNotAcquired at once if one is not.
func (m *Multi) TryAcquire(ctx context.Context) (*MultiLock, error) {
	return m.acquire(ctx, Locker.TryAcquire)
}

func (m *Multi) acquire(ctx context.Context, acquire acquireFunc) (*MultiLock, error) {
	for {
		ml := &MultiLock{}
		path, err := ml.acquireAll(ctx, m.locks, acquire)
		if err == nil {
			return ml, nil
		}
		lost := !ml.Valid()
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
		_ = ml.Release(undo) // they are released in any case; err is more useful
		cancel()
		if !lost {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("acquire %s: %w", path, notAcquired(ctx))
		}
	}
}

// MultiLock is one acquisition of a Multi. Its methods are safe for concurrent use.
type MultiLock struct {
	locks []*Lock
	ctx   context.Context //nolint:containedctx // callers wait for its end: see Context
	end   context.CancelCauseFunc
	stops []func() bool
}

// acquireAll acquires the locks one after the other, while none of the earlier ones is lost. Its error
// is from the lock on path.
func (ml *MultiLock) acquireAll(ctx context.Context, locks []Locker, acquire acquireFunc) (path string, err error) {
	ml.ctx, ml.end = context.WithCancelCause(context.WithoutCancel(ctx))
	for _, l := range locks {
		while, stop := conn.Until(ctx, ml.ctx)
		lock, err := acquire(l, while)
		stop()
		if err != nil {
			return l.Path(), err
		}
		ml.locks = append(ml.locks, lock)
		// The context ends with the first lock that does.
		ml.stops = append(ml.stops, context.AfterFunc(lock.Context(), func() { ml.end(context.Cause(lock.Context())) }))
		path = l.Path()
	}
	if !ml.Valid() {
		return path, ErrLost
	}
	return path, nil
}

// Valid reports whether no lock is lost or released; see Lock.Valid.
func (ml *MultiLock) Valid() bool {
	return !slices.ContainsFunc(ml.locks, func(l *Lock) bool { return !l.Valid() })
}

// Locks returns the handles of the single locks, sorted by path: each has its token and its Guard.
func (ml *MultiLock) Locks() []*Lock { return slices.Clone(ml.locks) }

// Context returns a context that ends when one of the locks is lost, or all are released; see Lock.Context.
func (ml *MultiLock) Context() context.Context { return ml.ctx }

// Release releases all of the locks, the last one first, even if some fail. It joins the errors of Lock.Release.
func (ml *MultiLock) Release(ctx context.Context) error {
	for _, stop := range ml.stops {
		stop()
	}
	ml.end(ErrReleased)
	var errs []error
	for _, lock := range slices.Backward(ml.locks) {
		errs = append(errs, lock.Release(ctx))
	}
	return errors.Join(errs...)
}
