package zklock

import "context"

// Mutex is a lock that one holder at a time has, among all processes. It is a cheap value: make one wherever the lock
// is needed; all values on one path are the same lock. It is not reentrant. Its methods are safe for concurrent use.
type Mutex struct{ queued }

// NewMutex returns the lock on path, an absolute path in ZooKeeper such as "/locks/stock". By default, goroutines of
// one process hand it on among themselves before another process has it, within bounds: they are served in the order in
// which they came, and processes are too, but all together are not. WithHandoff(1, 0) serves all in one order. The
// nodes of the path need not exist.
func NewMutex(s *Session, path string, opts ...MutexOption) *Mutex {
	return &Mutex{newQueued(s, path, optionsOf(s, opts, MutexOption.setMutex))}
}

// Acquire waits for the lock until ctx ends, over reconnects and session losses. If ctx ends first, the error is both
// the context's and ErrNotAcquired, or ErrNoAnswer, also if ctx has ended before the call.
func (m *Mutex) Acquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, false) }

// TryAcquire acquires the lock if it is free, and returns ErrNotAcquired at once if it is not. ctx bounds
// the requests that this takes.
func (m *Mutex) TryAcquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, true) }

func (m *Mutex) acquire(ctx context.Context, try bool) (*Lock, error) {
	return m.acquiring(ctx, func() (*Lock, error) {
		switch {
		case m.opts.handoffs <= 1:
			return m.acquireInQueue(ctx, m.opts.mutexLine(m.path), try)
		case try:
			return m.tryLocally(ctx) // see handoff.go
		default:
			return m.acquireLocally(ctx)
		}
	})
}

func (o *options) mutexLine(path string) line {
	return line{dir: path, own: o.names[0], kinds: o.names, before: inTurn, opts: o}
}
