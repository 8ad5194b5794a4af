package zklock

import "context"

// Mutex is a lock that one holder at a time has, among all processes. It is a cheap value: make one
// wherever the lock is needed; all values on one path are the same lock. It is not reentrant. Its
// methods are safe for concurrent use.
type Mutex struct{ queued }

// NewMutex returns the lock on path, an absolute path in ZooKeeper such as "/locks/stock". The nodes
// of the path need not exist.
func NewMutex(s *Session, path string, opts ...Option) *Mutex {
	return &Mutex{queued{s, path, optionsOf(s, path, opts)}}
}

// Acquire waits for the lock until ctx ends, over reconnects and session losses. If ctx ends first, the error is both
// the context's and ErrNotAcquired, or ErrNoAnswer, also if ctx has ended before the call.
func (m *Mutex) Acquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, false) }

// TryAcquire acquires the lock if it is free, and returns ErrNotAcquired at once if it is not. ctx bounds
// the requests that this takes.
func (m *Mutex) TryAcquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, true) }

func (m *Mutex) acquire(ctx context.Context, try bool) (lock *Lock, err error) {
	switch {
	case ctx.Err() != nil:
		return nil, ended(ctx, m.path)
	case m.opts.handoffs <= 1:
		lock, err = m.acquireInQueue(ctx, m.opts.mutexLine(m.path), try)
	case try:
		lock, err = m.tryLocally(ctx) // see handoff.go
	default:
		lock, err = m.acquireLocally(ctx)
	}
	return lock, m.s.acquireError(ctx, m.path, err)
}

func (o *options) mutexLine(path string) line {
	return line{dir: path, own: o.names[0], kinds: o.names, before: inTurn, watchParent: o.watchParent, opts: o}
}
