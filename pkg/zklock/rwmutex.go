package zklock

import "context"

// RWMutex is a lock that many readers hold together, or one writer alone, among all processes. It
// is fair: a reader waits for the writers that came before it and for no others, a writer for all
// that came before it. It is not reentrant, a reader cannot become a writer, though a writer a
// reader, and there is no local hand-off. Its methods are safe for concurrent use.
//
// On the wire it is Apache Curator's InterProcessReadWriteLock. A Mutex on the same path is another
// lock.
type RWMutex struct {
	s    *Session
	path string
	opts options
}

// NewRWMutex returns the lock on path, "/" and names separated by "/". The nodes of the path need
// not exist.
func NewRWMutex(s *Session, path string, opts ...Option) *RWMutex {
	return &RWMutex{s: s, path: path, opts: optionsOf(opts)}
}

// Path returns the lock's path in ZooKeeper.
func (m *RWMutex) Path() string { return m.path }

// RLock waits for a share of the lock until ctx ends; see Mutex.Acquire. The tokens of those who
// share it differ: only the writers' are of use for fencing.
func (m *RWMutex) RLock(ctx context.Context) (*Lock, error) { return m.acquire(ctx, m.reading(false)) }

// TryRLock takes a share of the lock if it can at once; see Mutex.TryAcquire.
func (m *RWMutex) TryRLock(ctx context.Context) (*Lock, error) {
	return m.acquire(ctx, m.reading(true))
}

// Lock waits for the whole lock until ctx ends; see Mutex.Acquire.
func (m *RWMutex) Lock(ctx context.Context) (*Lock, error) { return m.acquire(ctx, m.writing(false)) }

// TryLock takes the whole lock if it can at once; see Mutex.TryAcquire.
func (m *RWMutex) TryLock(ctx context.Context) (*Lock, error) {
	return m.acquire(ctx, m.writing(true))
}

// Reader returns the side that readers share, as a Locker: RLock and TryRLock.
func (m *RWMutex) Reader() Locker { return side{m, false} }

// Writer returns the writer's side as a Locker: Lock and TryLock.
func (m *RWMutex) Writer() Locker { return side{m, true} }

type side struct {
	*RWMutex
	write bool
}

func (m side) Acquire(ctx context.Context) (*Lock, error) {
	if m.write {
		return m.Lock(ctx)
	}
	return m.RLock(ctx)
}

func (m side) TryAcquire(ctx context.Context) (*Lock, error) {
	if m.write {
		return m.TryLock(ctx)
	}
	return m.TryRLock(ctx)
}

var readOrWrite = []kind{kindRead, kindWrite}

func (m *RWMutex) reading(try bool) line {
	return line{dir: m.path, kind: kindRead, kinds: readOrWrite, rule: afterLastWriter, try: try}
}

func (m *RWMutex) writing(try bool) line {
	return line{dir: m.path, kind: kindWrite, kinds: readOrWrite, rule: inTurn, try: try}
}

// afterLastWriter is the rule of readers: to wait for the last writer before them, never for one
// that came later.
func afterLastWriter(queue []member, at int) *member {
	for at--; at >= 0; at-- {
		if queue[at].Kind == kindWrite {
			return &queue[at]
		}
	}
	return nil
}

func (m *RWMutex) acquire(ctx context.Context, l line) (*Lock, error) {
	began := now()
	lock, err := m.s.acquirePlain(ctx, l, m.path, m.opts)
	err = acquireError(ctx, m.path, err)
	m.opts.hooks.waited(m.path, began, err)
	return lock, err
}
