package zklock

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/conn"
	"orderstock/pkg/zklock/internal/queue"
)

// RWMutex is a lock that many readers hold together, or one writer alone, among all processes. It
// is fair: a reader waits for the writers that came before it and for no others, a writer for all
// that came before it. It is not reentrant. A writer can become a reader, see Downgrade, but not the
// other way round. There is no local hand-off. Its methods are safe for concurrent use.
//
// It has the nodes of Apache Curator's InterProcessReadWriteLock in ZooKeeper. A Mutex on the same
// path is another lock.
type RWMutex struct {
	s    *Session
	path string
	opts options
}

// NewRWMutex returns the lock on path, an absolute path in ZooKeeper; see NewMutex. The nodes of the
// path need not exist.
func NewRWMutex(s *Session, path string, opts ...Option) *RWMutex {
	return &RWMutex{s: s, path: path, opts: optionsOf(s, opts)}
}

// Path returns the lock's path in ZooKeeper.
func (m *RWMutex) Path() string { return m.path }

// RLock waits for a share of the lock until ctx ends; see Mutex.Acquire. The tokens of readers that
// share it differ: only the writers' are of use for fencing.
func (m *RWMutex) RLock(ctx context.Context) (*Lock, error) {
	return m.acquire(ctx, m.reading(), false)
}

// TryRLock takes a share of the lock if it can at once; see Mutex.TryAcquire.
func (m *RWMutex) TryRLock(ctx context.Context) (*Lock, error) {
	return m.acquire(ctx, m.reading(), true)
}

// Lock waits for the whole lock until ctx ends; see Mutex.Acquire.
func (m *RWMutex) Lock(ctx context.Context) (*Lock, error) { return m.acquire(ctx, m.writing(), false) }

// TryLock takes the whole lock if it can at once; see Mutex.TryAcquire.
func (m *RWMutex) TryLock(ctx context.Context) (*Lock, error) {
	return m.acquire(ctx, m.writing(), true)
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

var readOrWrite = []queue.Kind{queue.Read, queue.Write}

func (m *RWMutex) reading() queue.Line {
	return queue.Line{Dir: m.path, Own: queue.Read, Kinds: readOrWrite, Rule: queue.AfterLast(queue.Write)}
}

func (m *RWMutex) writing() queue.Line {
	return queue.Line{Dir: m.path, Own: queue.Write, Kinds: readOrWrite, Rule: queue.InTurn}
}

func (m *RWMutex) acquire(ctx context.Context, l queue.Line, try bool) (lock *Lock, err error) {
	began := conn.Now()
	h, err := m.s.acquire(ctx, l, m.opts, try)
	if err == nil {
		lock = h.lock(ctx, m.path)
	}
	return lock, m.opts.acquired(ctx, m.path, began, err)
}

// lastDowngrade is the greatest number of a writer's node that a reader's may take over. The million
// numbers after it are left for contenders that queue while that reader holds the lock. When one of
// them is near the end of the parent's counter, the queue is in the order of the nodes' creation, and
// the reader's is younger than its number says.
const lastDowngrade = math.MaxInt32 - 1<<20

// Downgrade makes a reader of a writer that holds this lock, and returns the reader's handle. No other
// writer has the lock between the two, and the readers that wait before the next writer get their
// share. Downgrade releases the writer's handle. If it fails, the lock is not the caller's any more,
// and its nodes are removed as by Lock.Release, with the same errors.
//
// Downgrade refuses nil and a handle that is not a writer's of this lock, and leaves it as it is. It also
// refuses a handle whose number is near the end of the parent's counter, after 2^31 - 2^20
// acquisitions: release that handle and call RLock.
//
// The reader's node takes the writer's number, by a transaction that removes the one and makes the
// other.
func (m *RWMutex) Downgrade(ctx context.Context, writer *Lock) (*Lock, error) {
	reader, err := m.downgrade(ctx, writer)
	if err != nil {
		return nil, fmt.Errorf("downgrade %s: %w", m.path, err)
	}
	return reader, nil
}

func (m *RWMutex) downgrade(ctx context.Context, writer *Lock) (*Lock, error) {
	if writer == nil {
		return nil, errors.New("there is no handle")
	}
	if writer.path != m.path || len(writer.holders) != 1 || writer.holders[0].s != m.s {
		return nil, errors.New("the handle is another lock's")
	}
	h := writer.holders[0]
	place, ok := queue.Parse(h.Name(), queue.Write)
	switch {
	case !ok:
		return nil, errors.New("the handle is not a writer's")
	case place.Seq < 0 || place.Seq > lastDowngrade:
		return nil, fmt.Errorf("number %d is near the end of the parent's counter: "+
			"release the lock and call RLock", place.Seq)
	}
	var reader *holder
	err := writer.finish(ctx, func(ctx context.Context) (err error) {
		reader, err = m.replace(ctx, h, place)
		return err
	})
	if err != nil {
		return nil, err
	}
	return reader.lock(ctx, m.path), nil
}

// replace puts a reader's node into the writer's place in the queue. If it fails, both nodes are being
// removed.
func (m *RWMutex) replace(ctx context.Context, writer *holder, place queue.Member) (*holder, error) {
	if lost := context.Cause(writer.ctx); lost != nil {
		writer.drop()
		return nil, lost
	}
	writer.end()
	ctx, stop := conn.Until(ctx, m.s.conn.Context())
	defer stop()
	node, err := writer.Replace(ctx, queue.Read, place.Name[len(place.Prefix)+len(place.Kind):])
	if err != nil {
		return nil, err
	}
	reader, err := m.takeOver(ctx, writer.life, node)
	if err != nil {
		writer.Remove()
		node.RemoveDoubtful()
	}
	return reader, err
}

// takeOver makes the node a holder, if it is there and of the session of life.
func (m *RWMutex) takeOver(ctx context.Context, life *conn.Lifetime, node *queue.Node) (*holder, error) {
	var (
		place = queue.Place{Node: node}
		stat  zk.Stat
	)
	err := conn.Retry(ctx, func() (err error) {
		place.Own = m.s.conn.Watch(node.Path)
		stat, err = place.Own.Armed(ctx)
		return err
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil, errNodeDeleted
	case err != nil:
		return nil, err
	case stat.EphemeralOwner != life.ID:
		return nil, errExpired
	}
	place.Czxid = stat.Czxid
	reader, err := m.s.hold(life, place, m.opts)
	if errors.Is(err, queue.ErrVanished) {
		err = errExpired
	}
	return reader, err
}
