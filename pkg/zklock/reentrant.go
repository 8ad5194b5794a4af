package zklock

import (
	"context"
	"fmt"

	"orderstock/pkg/zklock/internal/conn"
)

// ReentrantMutex is a Mutex that its owner may acquire again while holding it, without a request
// to ZooKeeper; it is free once every acquisition has been released. The owner travels in the context,
// as goroutines have no identity: see WithOwner. Its methods are safe for concurrent use.
//
// All values on one path of a Session are the same lock to an owner.
type ReentrantMutex struct{ mutex *Mutex }

// NewReentrantMutex returns the lock on path; see NewMutex.
func NewReentrantMutex(s *Session, path string, opts ...MutexOption) *ReentrantMutex {
	return &ReentrantMutex{NewMutex(s, path, opts...)}
}

type ownerKey struct{}

// lockOwner is an identity. Its size must not be zero, or pointers to different owners might be equal.
type lockOwner struct{ _ byte }

// WithOwner gives ctx an owner of reentrant locks, unless it has one. Call it where an operation
// begins, and pass the context on to all parts of the operation: each of them, in other goroutines
// too, may then acquire a lock that the operation holds.
func WithOwner(ctx context.Context) context.Context {
	if ownerFrom(ctx) != nil {
		return ctx
	}
	return context.WithValue(ctx, ownerKey{}, new(lockOwner))
}

func ownerFrom(ctx context.Context) *lockOwner {
	owner, _ := ctx.Value(ownerKey{}).(*lockOwner)
	return owner
}

type holdKey struct {
	path  string
	owner *lockOwner
}

// hold is an owner's hold on a lock, or its attempt to get one.
type hold struct {
	ready chan struct{} // closed when the first acquisition has ended
	lock  *Lock         // nil if it failed
	depth int           // acquisitions that are not released, guarded by Session.mu
}

// Path returns the lock's path in ZooKeeper.
func (m *ReentrantMutex) Path() string { return m.mutex.path }

// Acquire is Mutex.Acquire for the owner in ctx. If that owner holds the lock, it returns at once,
// with another handle that has the same token. It fails with ErrNoOwner without an owner, and with
// ErrLost if the owner's lock was lost and is not yet released.
func (m *ReentrantMutex) Acquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, false) }

// TryAcquire is Mutex.TryAcquire for the owner in ctx; see Acquire. While another acquisition of the
// owner waits, it returns ErrNotAcquired.
func (m *ReentrantMutex) TryAcquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, true) }

func (m *ReentrantMutex) acquire(ctx context.Context, try bool) (*Lock, error) {
	key := holdKey{m.mutex.path, ownerFrom(ctx)}
	if key.owner == nil {
		return nil, fmt.Errorf("acquire %s: %w", key.path, ErrNoOwner)
	}
	s := m.mutex.s
	for {
		s.mu.Lock()
		h := s.holds[key]
		if h == nil {
			h = &hold{ready: make(chan struct{}), depth: 1}
			s.holds[key] = h
			s.mu.Unlock()
			return m.enter(ctx, try, key, h)
		}
		s.mu.Unlock()
		select {
		case <-h.ready:
		default:
			if try {
				return nil, s.acquireError(ctx, key.path, ErrNotAcquired)
			}
			if conn.Wait(ctx, h.ready) != nil {
				return nil, s.acquireError(ctx, key.path, notAcquired(ctx))
			}
		}
		if lock, err := m.enterAgain(ctx, key, h); lock != nil || err != nil {
			return lock, err
		}
	}
}

// enter acquires the mutex for its owner.
func (m *ReentrantMutex) enter(ctx context.Context, try bool, key holdKey, h *hold) (*Lock, error) {
	lock, err := m.mutex.acquire(ctx, try)
	defer close(h.ready)
	if err != nil {
		m.leave(key, h)
		return nil, err
	}
	h.lock = lock
	return m.handle(ctx, key, h), nil
}

// enterAgain enters a lock that its owner has. It returns nil, nil if the owner has it no more.
func (m *ReentrantMutex) enterAgain(ctx context.Context, key holdKey, h *hold) (*Lock, error) {
	s := m.mutex.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.lock == nil || h.depth == 0 {
		return nil, nil //nolint:nilnil // says so above, and is not exported
	}
	if err := h.lock.holder.lost(); err != nil {
		return nil, fmt.Errorf("acquire %s again: %w", key.path, err)
	}
	h.depth++
	return m.handle(ctx, key, h), nil
}

// handle makes the handle of one entry. It has no hooks: the mutex's handle calls its own.
func (m *ReentrantMutex) handle(ctx context.Context, key holdKey, h *hold) *Lock {
	release := func(ctx context.Context) error {
		if !m.leave(key, h) {
			return nil
		}
		return h.lock.release(ctx)
	}
	return newLock(ctx, key.path, h.lock.token, h.lock.holder, Hooks{}, release)
}

// leave ends one entry and reports whether it was the last.
func (m *ReentrantMutex) leave(key holdKey, h *hold) bool {
	s := m.mutex.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.depth--; h.depth == 0 {
		delete(s.holds, key)
	}
	return h.depth == 0
}
