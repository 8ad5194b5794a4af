package zklock

import (
	"context"
	"errors"

	"orderstock/pkg/zklock/internal/conn"
	"orderstock/pkg/zklock/internal/queue"
)

// Mutex is a lock that one holder at a time has, among all processes. It is a cheap value: make one
// wherever the lock is needed; all values on one path are the same lock. It is not reentrant. Its
// methods are safe for concurrent use.
//
// It has the nodes of Apache Curator's InterProcessMutex in ZooKeeper. A Mutex excludes that lock
// and the client library's own Lock, and they exclude it. Curator's other mutex,
// InterProcessSemaphoreMutex, has the nodes of a Semaphore with one lease.
type Mutex struct {
	s    *Session
	path string
	opts options
}

// NewMutex returns the lock on path, an absolute path in ZooKeeper such as "/locks/stock". The nodes
// of the path need not exist.
func NewMutex(s *Session, path string, opts ...Option) *Mutex {
	return &Mutex{s: s, path: path, opts: optionsOf(s, opts)}
}

// Path returns the lock's path in ZooKeeper.
func (m *Mutex) Path() string { return m.path }

// Acquire waits for the lock until ctx ends, over reconnects and session losses. If ctx ends first,
// the error is both ErrNotAcquired and the context's.
func (m *Mutex) Acquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, false) }

// TryAcquire acquires the lock if it is free, and returns ErrNotAcquired at once if it is not. A node
// that another process keeps for its next use, see WithLinger, counts as taken. That process then
// gives the node up, so that a try soon after succeeds. ctx bounds the requests that this takes.
func (m *Mutex) TryAcquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, true) }

func (m *Mutex) acquire(ctx context.Context, try bool) (lock *Lock, err error) {
	began := conn.Now()
	switch {
	case m.opts.handoffs <= 1:
		lock, err = m.acquireInQueue(ctx, try)
	case try:
		lock, err = m.tryLocally(ctx) // see handoff.go
	default:
		lock, err = m.acquireLocally(ctx)
	}
	return lock, m.opts.acquired(ctx, m.path, began, err)
}

// acquireInQueue acquires the lock without local hand-off.
func (m *Mutex) acquireInQueue(ctx context.Context, try bool) (*Lock, error) {
	h, err := m.s.acquire(ctx, mutexLine(m.path, m.opts.names), m.opts, try)
	if err != nil {
		if taken := (takenError{}); errors.As(err, &taken) {
			m.s.tries.tell(m.s.conn, m.path, taken.by) // see linger.go
		}
		return nil, err
	}
	return h.lock(ctx, m.path), nil
}

func mutexLine(path string, names []queue.Kind) queue.Line {
	return queue.Line{Dir: path, Own: names[0], Kinds: names, Rule: queue.InTurn}
}
