package zklock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/conn"
)

// Locker is a lock of any kind: a Mutex, a ReentrantMutex, a Semaphore, or a side of an RWMutex.
type Locker interface {
	Acquirer[*Lock]
	// Path returns the lock's path in ZooKeeper.
	Path() string
}

var _, _, _, _ Locker = (*Mutex)(nil), (*ReentrantMutex)(nil), (*Semaphore)(nil), side{}

// queued has the parts that a Mutex, an RWMutex and a Semaphore share.
type queued struct {
	s    *Session
	path string
	opts options
}

func newQueued(s *Session, path string, o options) queued {
	o.data, o.invalid = o.owner.encode(), o.check(path)
	return queued{s, s.root + path, o}
}

// Path returns the lock's path in ZooKeeper, behind the session's namespace.
func (q *queued) Path() string { return q.path }

// acquiring runs an acquisition, unless ctx has ended, and completes its error.
func (q *queued) acquiring(ctx context.Context, acquire func() (*Lock, error)) (lock *Lock, err error) {
	began := conn.Now()
	if ctx.Err() != nil {
		err = ended(ctx, q.path)
	} else {
		lock, err = acquire()
		err = q.s.acquireError(ctx, q.path, err)
	}
	if q.opts.hooks.Waited != nil {
		q.opts.hooks.Waited(q.path, time.Duration(conn.Now()-began), err)
	}
	return lock, err
}

// acquireInQueue acquires the lock in ZooKeeper, without local hand-off.
func (q *queued) acquireInQueue(ctx context.Context, l line, try bool) (*Lock, error) {
	h, err := q.s.acquire(ctx, l, try)
	if err != nil {
		return nil, err
	}
	return h.lock(ctx, q.path), nil
}

// undoTimeout bounds the release of locks when the caller's context may have ended.
const undoTimeout = 5 * time.Second

// Acquirer is a lock of any kind, a Multi included.
type Acquirer[H Held] interface {
	// Acquire waits for the lock until ctx ends; see Mutex.Acquire.
	Acquire(ctx context.Context) (H, error)
	// TryAcquire returns ErrNotAcquired at once if the lock is taken; see Mutex.TryAcquire.
	TryAcquire(ctx context.Context) (H, error)
}

// Held is the handle of an acquisition: a *Lock, or the *MultiLock of a Multi.
type Held interface {
	Context() context.Context
	Valid() bool
	Release(ctx context.Context) error
}

// Do runs f while it holds l: it waits for the lock until ctx ends, and releases it when f returns or
// panics. The context of f is ctx, and ends earlier if the lock is lost.
//
// Do returns the error of the acquisition, and then has not run f; otherwise the error of f, joined with ErrLost if the
// lock was lost before f returned: then others may have held it in between. No other error of the release is returned,
// as the work is done: ZooKeeper may not have answered, and the node is removed later; or f has released the lock.
func Do[H Held](ctx context.Context, l Acquirer[H], f func(ctx context.Context, held H) error) (err error) {
	if l == nil || f == nil {
		return errors.New("zklock: Do was called without a lock or without a function")
	}
	lock, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	defer func() {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
		defer cancel()
		if e := lock.Release(undo); errors.Is(e, ErrLost) {
			err = errors.Join(err, e)
		}
	}()
	held, stop := conn.Until(ctx, lock.Context())
	defer stop()
	return f(held, lock)
}

// Lock is the handle of one acquisition. Nothing done with it touches a later acquisition. Its methods
// are safe for concurrent use.
type Lock struct {
	path     string
	token    Token
	ctx      context.Context //nolint:containedctx // callers wait for its end: see Context
	end      context.CancelCauseFunc
	giveUp   func(context.Context) error
	holder   *holder
	hooks    Hooks
	since    conn.Instant
	unhook   func() bool  // nil without a hook for the loss
	released *atomic.Bool // shared with copies of the handle
}

// newLock makes a handle that ends with h. Its context has the values of ctx, the acquirer's.
func newLock(
	ctx context.Context, path string, token Token, h *holder, hooks Hooks, giveUp func(context.Context) error,
) *Lock {
	l := &Lock{
		path: path, token: token, holder: h, hooks: hooks, giveUp: giveUp,
		since: conn.Now(), released: new(atomic.Bool),
	}
	life, end := context.WithCancelCause(h.ctx)
	l.ctx, l.end = lockContext{life, ctx}, end
	if hooks.Lost != nil {
		l.unhook = context.AfterFunc(life, func() { l.reportLoss(context.Cause(life)) })
	}
	return l
}

// Path returns the lock's path in ZooKeeper.
func (l *Lock) Path() string { return l.path }

// Token returns the fencing token of this acquisition.
func (l *Lock) Token() Token { return l.token }

// Context returns a context that ends when the lock is lost or released; context.Cause says which,
// by ErrLost or ErrReleased. It has the values of the context that Acquire was given, but does not
// end with it. Work that the lock protects should run under it.
func (l *Lock) Context() context.Context { return l.ctx }

// Valid reports whether the lock is this holder's, by all that can be known without asking the server.
// Unlike Context it needs no timer to have fired: a process that was paused may ask it first.
func (l *Lock) Valid() bool { return l.ValidFor() > 0 }

// ValidFor returns for how long the lock is this holder's for certain even if nothing more is heard from ZooKeeper: 0
// if it is lost or released, and one session timeout at most. It rests on the assumptions of Context, which the
// package's documentation lists, and cannot know that someone will delete the node.
func (l *Lock) ValidFor() time.Duration {
	if l.ctx.Err() != nil {
		return 0
	}
	return max(0, l.holder.life.Left())
}

// Wanted waits until another contender has to wait in the lock's queue in ZooKeeper, and returns nil. It returns the
// cause of ctx's end, or of the end of Context, if that comes first. Those who share the lock, and those who wait in
// this process for a local hand-off, do not count. A holder that would use the lock again soon may keep it until then.
// It may ask again and again: ZooKeeper is asked once for each change of the queue.
func (l *Lock) Wanted(ctx context.Context) error {
	if l.ctx.Err() != nil {
		return context.Cause(l.ctx)
	}
	ctx, stop := conn.Until(ctx, l.ctx)
	defer stop()
	return l.holder.awaitRival(ctx)
}

// Guard returns operations for a multi of the session's connection, or another's. With them the rest
// of the multi is done only if ZooKeeper has not given the lock to another holder; otherwise it fails
// with zk.ErrNoNode. So a holder that was paused changes nothing in ZooKeeper, without a token to
// compare. It does what IsOwner does in package concurrency of etcd's client.
//
//	_, err := session.Conn().Multi(append(lock.Guard(), &zk.SetDataRequest{Path: path, Data: data, Version: -1})...)
//
// ZooKeeper does not see local hand-off, so release the lock only after the multi was answered.
func (l *Lock) Guard() []any {
	return []any{&zk.CheckVersionRequest{Path: l.holder.path, Version: -1}}
}

// Release gives the lock up, and waits until its queue node is removed. It does not wait if others in the process have
// the lock next; see WithHandoff and ReentrantMutex. It returns ErrLost if the lock was lost before, so that others may
// have held it at the same time, or may have been by the local clock; ErrReleased if the handle was released before;
// the cause of ctx's end if ctx ends before ZooKeeper has answered; and ErrNoAnswer if the session may have ended
// before it has. In every case the lock is not this holder's any more, and the node is removed in the end.
func (l *Lock) Release(ctx context.Context) error {
	if err := l.release(ctx); err != nil {
		return fmt.Errorf("release %s: %w", l.path, err)
	}
	return nil
}

func (l *Lock) release(ctx context.Context) error {
	if l.released.Swap(true) {
		return ErrReleased
	}
	if l.hooks.Held != nil {
		l.hooks.Held(l.path, time.Duration(conn.Now()-l.since))
	}
	lost := l.holder.lost()
	if l.unhook != nil && l.unhook() && lost != nil { // the hook was stopped before it ran
		l.reportLoss(lost)
	}
	l.end(ErrReleased)
	if err := l.giveUp(ctx); lost == nil {
		return err
	}
	return lost
}

// reportLoss calls the hook Lost, unless the Session was closed.
func (l *Lock) reportLoss(cause error) {
	if !errors.Is(cause, ErrSessionClosed) {
		l.hooks.Lost(l.path, cause)
	}
}

// lockContext ends when the embedded Context ends, and has the values of another context.
type lockContext struct {
	context.Context
	values context.Context //nolint:containedctx // it is a context
}

// Value asks the embedded Context first: the context package finds that Context, and the cause of its
// end, by a private key. The embedded Context has no other values.
func (c lockContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}
