package zklock

import "context"

// RWMutex is a lock that many readers hold together, or one writer alone, among all processes. It is fair: a reader
// waits for the writers that came before it and for no others, a writer for all that came before it. Reader and Writer
// return its sides. It is not reentrant. There is no local hand-off. Its methods are safe for concurrent use.
type RWMutex struct{ queued }

// NewRWMutex returns the lock on path; see NewMutex.
func NewRWMutex(s *Session, path string, opts ...Option) *RWMutex {
	return &RWMutex{newQueued(s, path, optionsOf(s, opts, Option.setLock))}
}

// Reader returns the side that readers share. The tokens of readers that share it differ: only the writers' are of use
// for fencing.
func (m *RWMutex) Reader() Locker { return side{m, false} }

// Writer returns the side for writers: one holder has the whole lock.
func (m *RWMutex) Writer() Locker { return side{m, true} }

type side struct {
	*RWMutex
	write bool
}

func (m side) Acquire(ctx context.Context) (*Lock, error)    { return m.acquire(ctx, false) }
func (m side) TryAcquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, true) }

func (m side) acquire(ctx context.Context, try bool) (*Lock, error) {
	l := line{dir: m.path, own: readKind, kinds: []kind{readKind, writeKind}, before: shared, opts: &m.opts}
	if m.write {
		l.own = writeKind
	}
	return m.acquiring(ctx, func() (*Lock, error) { return m.acquireInQueue(ctx, l, try) })
}
