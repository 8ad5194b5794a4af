package zklock

import "context"

// RWMutex is a lock that many readers hold together, or one writer alone, among all processes. It
// is fair: a reader waits for the writers that came before it and for no others, a writer for all
// that came before it. It is not reentrant. There is no local hand-off. Its methods are safe for concurrent use.
type RWMutex struct{ queued }

// NewRWMutex returns the lock on path, an absolute path in ZooKeeper; see NewMutex. The nodes of the
// path need not exist.
func NewRWMutex(s *Session, path string, opts ...Option) *RWMutex {
	return &RWMutex{queued{s, path, optionsOf(s, path, opts)}}
}

// RLock waits for a share of the lock until ctx ends; see Mutex.Acquire. The tokens of readers that
// share it differ: only the writers' are of use for fencing.
func (m *RWMutex) RLock(ctx context.Context) (*Lock, error) { return m.acquire(ctx, false, false) }

// TryRLock takes a share of the lock if it can at once; see Mutex.TryAcquire.
func (m *RWMutex) TryRLock(ctx context.Context) (*Lock, error) { return m.acquire(ctx, false, true) }

// Lock waits for the whole lock until ctx ends; see Mutex.Acquire.
func (m *RWMutex) Lock(ctx context.Context) (*Lock, error) { return m.acquire(ctx, true, false) }

// TryLock takes the whole lock if it can at once; see Mutex.TryAcquire.
func (m *RWMutex) TryLock(ctx context.Context) (*Lock, error) { return m.acquire(ctx, true, true) }

// Reader returns the side that readers share, as a Locker: RLock and TryRLock.
func (m *RWMutex) Reader() Locker { return side{m, false} }

// Writer returns the writer's side as a Locker: Lock and TryLock.
func (m *RWMutex) Writer() Locker { return side{m, true} }

type side struct {
	*RWMutex
	write bool
}

func (m side) Acquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, m.write, false) }

func (m side) TryAcquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, m.write, true) }

func (m *RWMutex) acquire(ctx context.Context, write, try bool) (*Lock, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx, m.path)
	}
	l := line{
		dir: m.path, own: readKind, kinds: []kind{readKind, writeKind}, before: shared,
		watchParent: m.opts.watchParent, opts: &m.opts,
	}
	if write {
		l.own = writeKind
	}
	lock, err := m.acquireInQueue(ctx, l, try)
	return lock, m.s.acquireError(ctx, m.path, err)
}
