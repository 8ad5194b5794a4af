package herd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
	"orderstock/pkg/zklock/internal/conn"
	"orderstock/pkg/zklock/internal/queue"
)

// ErrUsedUp says that the parent has numbered as many children as it can, which is 2^31-1. The names
// of these locks hold nothing else to distinguish contenders: remove the parent, and its numbers begin
// at 0 again, or take another path.
var ErrUsedUp = errors.New("herd: the numbers of the parent's children are used up")

// line is a parent whose ephemeral sequential children stand in line.
type line struct {
	base
	root   string
	kinds  []queue.Kind
	prefix bool // whether names may have something before their kind
	crowd  bool // waiters watch the parent, and so wake at each change, not only when a predecessor goes
}

// Sequential is the case study's sequential lock before its correction: each contender creates an
// ephemeral sequential child, the smallest holds the lock, and every waiter watches the parent's
// children. It is fair, but each release and each arrival wakes all.
type Sequential struct{ line }

// NewSequential returns a lock whose contenders are the children of path.
func NewSequential(s *zklock.Session, path string) *Sequential {
	m := &Sequential{line{root: path, kinds: []queue.Kind{queue.Lock}, crowd: true}}
	m.init(s)
	return m
}

// Acquire waits until the lock is held or ctx ends; it then returns ctx's cause.
func (m *Sequential) Acquire(ctx context.Context) (*Lock, error) {
	return m.acquire(ctx, queue.Lock, queue.InTurn)
}

// Named is one of the case study's many locks in one folder: the contenders for a name are the children
// <name>_lock_<number> of the root. It has no herd, since each waits for its predecessor of its name,
// but each look lists the contenders of all names.
type Named struct {
	line
	limit time.Duration
}

// NewNamed returns the lock of this name under root. Acquire waits for limit at most; 0 sets no limit
// but the context's. The name must not be empty or contain a slash.
func NewNamed(s *zklock.Session, root, name string, limit time.Duration) (*Named, error) {
	if name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("herd: lock name %q is empty or holds a slash", name)
	}
	m := &Named{line: line{root: root, kinds: []queue.Kind{name + "_lock_"}}, limit: limit}
	m.init(s)
	return m, nil
}

// Acquire waits until the lock is held, the limit is over (context.DeadlineExceeded) or ctx ends.
func (m *Named) Acquire(ctx context.Context) (*Lock, error) {
	if m.limit > 0 {
		limited, cancel := context.WithTimeout(ctx, m.limit)
		defer cancel()
		ctx = limited
	}
	return m.acquire(ctx, m.kinds[0], queue.InTurn)
}

const (
	read  queue.Kind = "-R-"
	write queue.Kind = "-W-"
)

// Shared is the case study's shared and exclusive lock in its first form: children named
// <host>-R-<number> and <host>-W-<number>, with everyone watching the parent. A reader waits for the
// writers before it, a writer for everybody before it.
type Shared struct {
	line
	host string
}

// NewShared returns a lock whose contenders are the children of path, named after host, which may hold
// any character. A slash in it becomes an underscore.
func NewShared(s *zklock.Session, path, host string) *Shared {
	m := &Shared{line: line{root: path, kinds: []queue.Kind{read, write}, prefix: true, crowd: true}}
	m.host = strings.ReplaceAll(host, "/", "_")
	m.init(s)
	return m
}

// AcquireRead waits until the lock is held for reading, along with other readers, or ctx ends.
func (m *Shared) AcquireRead(ctx context.Context) (*Lock, error) {
	return m.acquire(ctx, m.host+read, queue.AfterLast(write))
}

// AcquireWrite waits until the lock is held for writing, alone, or ctx ends.
func (m *Shared) AcquireWrite(ctx context.Context) (*Lock, error) {
	return m.acquire(ctx, m.host+write, queue.InTurn)
}

// acquire makes a node in the queue and waits for its turn.
func (q *line) acquire(ctx context.Context, prefix string, rule queue.Rule) (*Lock, error) {
	waiting, stop := conn.Until(ctx, q.conn.Context())
	defer stop()
	own, err := q.enqueue(waiting, prefix)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", q.root, err)
	}
	remove := func(ctx context.Context) error { return q.delete(ctx, own) }
	err = q.await(waiting, own, rule)
	if err == nil {
		var lock *Lock
		if lock, err = q.hold(ctx, own, remove); err == nil {
			return lock, nil
		}
	}
	q.abandon(ctx, remove)
	return nil, fmt.Errorf("acquire %s: %w", q.root, err)
}

func (q *line) delete(ctx context.Context, node string) error {
	return q.remove(ctx, func() error { return q.conn.Delete(ctx, node) })
}

// await looks at the children again after every wake-up: that the predecessor is gone does not say
// that there is none, since it may have been a waiter that gave up (fault K).
func (q *line) await(ctx context.Context, own string, rule queue.Rule) error {
	for {
		members, events, err := q.look(ctx, q.crowd)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(members, func(m queue.Member) bool { return q.root+"/"+m.Name == own })
		if at < 0 {
			return zklock.ErrLost
		}
		predecessor := rule(members, at)
		if predecessor == nil {
			return nil
		}
		if !q.crowd {
			exists := false
			err := conn.Retry(ctx, func() error {
				exists, events, err = q.conn.ExistsW(ctx, q.root+"/"+predecessor.Name)
				return err
			})
			if err != nil {
				return err
			}
			if !exists {
				continue
			}
		}
		if err := q.wake(ctx, events); err != nil {
			return err
		}
	}
}

// look reads the queue, with a watch on its next change if asked for.
func (q *line) look(ctx context.Context, watch bool) (members []queue.Member, events <-chan zk.Event, err error) {
	err = conn.Retry(ctx, func() error {
		var names []string
		if watch {
			var listing conn.Listing
			listing, events, err = q.conn.ChildrenW(ctx, q.root)
			names = listing.Names
		} else {
			names, err = q.conn.Children(ctx, q.root)
		}
		if err == nil {
			members, err = queue.Ordered(ctx, q.conn, q.root, names, q.kinds...)
		}
		return err
	})
	if !q.prefix {
		members = slices.DeleteFunc(members, func(m queue.Member) bool { return m.Prefix != "" })
	}
	return members, events, err
}

// enqueue creates our node and returns its path. The names are the case study's and have no place for an
// identity, so the node's data holds one, to find the node if its create was not answered.
func (q *line) enqueue(ctx context.Context, prefix string) (own string, err error) {
	id, doubtful := queue.NewGUID(), false
	err = conn.Retry(ctx, func() error {
		if doubtful {
			if own, err = q.find(ctx, id); own != "" || err != nil {
				return err
			}
		}
		answered := make(chan struct{})
		err = q.withParents(ctx, q.root, func() error {
			own, err = q.conn.Create(ctx, q.root+"/"+prefix, []byte(id), zk.FlagEphemeralSequential, q.acl,
				func(string, error) { close(answered) })
			if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
				q.abandon(ctx, func(ctx context.Context) error {
					_ = conn.Wait(ctx, answered) // if it fails, so does the removal
					return q.removeByID(ctx, id)
				})
			}
			return err
		})
		doubtful = doubtful || conn.Unanswered(err)
		return err
	})
	switch {
	case err != nil && doubtful:
		q.abandon(ctx, func(ctx context.Context) error { return q.removeByID(ctx, id) })
	case errors.Is(err, zk.ErrNodeExists):
		return "", ErrUsedUp
	case err == nil && usedUp(own, q.kinds):
		made := own // returning sets own, while the removal runs
		q.abandon(ctx, func(ctx context.Context) error { return q.delete(ctx, made) })
		return "", ErrUsedUp
	}
	return own, err
}

// usedUp reports whether the number of a node may be given to another child. The counter of a node's
// children stays at its end, and is negative while creates are under way there.
func usedUp(node string, kinds []queue.Kind) bool {
	m, ok := queue.Parse(node, kinds...)
	return ok && (m.Seq < 0 || m.Seq == math.MaxInt32)
}

// find returns the path of the child whose data is id, or "".
func (q *line) find(ctx context.Context, id string) (string, error) {
	if _, err := q.conn.SyncedChildren(ctx, q.root); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return "", err
	}
	members, _, err := q.look(ctx, false)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return "", err
	}
	for _, m := range members {
		node, err := q.conn.Get(ctx, q.root+"/"+m.Name)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return "", err
		}
		if string(node.Data) == id {
			return q.root + "/" + m.Name, nil
		}
	}
	return "", nil
}

func (q *line) removeByID(ctx context.Context, id string) error {
	return conn.Retry(ctx, func() error {
		node, err := q.find(ctx, id)
		if err != nil || node == "" {
			return err
		}
		return q.delete(ctx, node)
	})
}
