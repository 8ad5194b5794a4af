package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Mutex is a lock that one at a time holds, among all processes. It is a cheap value: make one
// wherever the lock is needed; those of one path are the same lock. It is not reentrant. Its
// methods are safe for concurrent use.
//
// On the wire it is Apache Curator's InterProcessMutex, and excludes and is excluded by it and
// by the client library's own Lock. Curator's other mutex, InterProcessSemaphoreMutex, is a
// Semaphore with one lease on the wire.
type Mutex struct {
	s    *Session
	path string
	opts options
}

// NewMutex returns the lock on path, "/" and names separated by "/". The nodes of the path need
// not exist.
func NewMutex(s *Session, path string, opts ...Option) *Mutex {
	return &Mutex{s: s, path: path, opts: optionsOf(opts)}
}

// Path returns the lock's path in ZooKeeper.
func (m *Mutex) Path() string { return m.path }

// Acquire waits for the lock until ctx ends, over reconnects and session losses. An ended context
// gives an error that is both ErrNotAcquired and the context's.
func (m *Mutex) Acquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, false) }

// TryAcquire acquires the lock if it is free, and returns ErrNotAcquired at once if it is not. A
// place that another process keeps for its next use, see WithLinger, counts as taken; that process
// is asked to give it up, so that a try soon after succeeds. ctx bounds the requests that this takes.
func (m *Mutex) TryAcquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, true) }

func (m *Mutex) acquire(ctx context.Context, try bool) (*Lock, error) {
	began := now()
	var (
		lock *Lock
		err  error
	)
	switch bad := badName(m.opts.names); {
	case bad != nil:
		err = bad
	case m.opts.handoffs <= 1:
		lock, err = m.s.acquirePlain(ctx, mutexLine(m.path, m.opts.names, try), m.path, m.opts)
	case try:
		lock, err = m.s.tryLocally(ctx, m.path, m.opts)
	default:
		lock, err = m.s.acquireLocally(ctx, m.path, m.opts)
	}
	err = acquireError(ctx, m.path, err)
	m.opts.hooks.waited(m.path, began, err)
	return lock, err
}

func mutexLine(path string, names []kind, try bool) line {
	return line{dir: path, kind: names[0], kinds: names, rule: inTurn, try: try}
}

// acquirePlain stands in line by itself, without local hand-off.
func (s *Session) acquirePlain(ctx context.Context, l line, path string, o options) (*Lock, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c, err := s.stand(ctx, l, o)
	if err != nil {
		if l.try && !slices.Contains(readOrWrite, l.kind) && errors.Is(err, ErrNotAcquired) {
			s.ask(l.dir)
		}
		return nil, err
	}
	return c.lock(ctx, path), nil
}

// lock makes the handle of a claim that nobody shares.
func (c *claim) lock(ctx context.Context, path string) *Lock {
	lock := newLock(ctx, c.ctx, path, Token{Czxid: c.czxid}, c.hooks)
	lock.claims, lock.giveUp = []*claim{c}, c.release
	return lock
}

// acquireError says what was attempted. Where the context ended, somebody else has the lock, as
// far as is known.
func acquireError(ctx context.Context, path string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && !errors.Is(err, ErrSessionClosed):
		if !errors.Is(err, ctx.Err()) {
			err = fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		return fmt.Errorf("acquire %s: %w: %w", path, ErrNotAcquired, err)
	default:
		return fmt.Errorf("acquire %s: %w", path, err)
	}
}
