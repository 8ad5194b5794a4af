package herd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
	"orderstock/pkg/zklock/internal/conn"
)

// cleanupTimeout bounds the removal of a node whose contender has gone. A session that cannot be
// reached for so long has usually expired, and its nodes with it.
const cleanupTimeout = 30 * time.Second

// base is common to all locks here.
type base struct {
	conn       *conn.Conn
	acl        []zk.ACL
	wakeups    atomic.Int64
	background sync.WaitGroup
}

func (b *base) init(s *zklock.Session) { b.conn, b.acl = conn.Of(s), s.ACL() }

// Wakeups counts the watch events that woke a waiter of this value since it was made.
func (b *base) Wakeups() int64 { return b.wakeups.Load() }

// Wait returns when nothing of this value runs in the background any more: no handle is held and every
// abandoned node is removed, or given up after thirty seconds.
func (b *base) Wait() { b.background.Wait() }

// wake waits for a watch event and counts it.
func (b *base) wake(ctx context.Context, events <-chan zk.Event) error {
	if err := conn.Wait(ctx, events); err != nil {
		return err
	}
	b.wakeups.Add(1)
	return nil
}

// abandon removes the nodes that a failed acquisition may have left. It uses its own context, since
// the caller's has usually just ended (fault L). If it fails, the nodes live as long as their session.
func (b *base) abandon(ctx context.Context, remove func(context.Context) error) {
	b.background.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		_ = remove(ctx)
	})
}

// withParents calls create, and calls it again after making the node dir if that is missing. If several
// contenders are the first, one of them makes the node, and the others use it (fault I).
func (b *base) withParents(ctx context.Context, dir string, create func() error) error {
	for {
		err := create()
		if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := b.conn.MakeParents(ctx, dir, b.acl); err != nil {
			return err
		}
	}
}

// remove calls del, which deletes nodes, and tries again over reconnects. Nodes that are gone already
// are no error.
func (b *base) remove(ctx context.Context, del func() error) error {
	err := conn.Retry(ctx, del)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// Lock is one acquisition.
type Lock struct {
	base   *base
	token  zklock.Token
	ctx    context.Context
	cancel context.CancelCauseFunc
	remove func(ctx context.Context) error // deletes this acquisition's node

	mu       sync.Mutex
	released bool
}

// hold makes the handle of a node that has just won, and watches the node until the handle ends.
func (b *base) hold(ctx context.Context, node string, remove func(context.Context) error) (*Lock, error) {
	life, err := b.conn.Ready(ctx)
	if err != nil {
		return nil, err
	}
	stat, events, err := b.watch(ctx, node)
	if errors.Is(err, zk.ErrNoNode) || err == nil && stat.EphemeralOwner != life.ID {
		return nil, zklock.ErrLost
	}
	if err != nil {
		return nil, err
	}
	l := &Lock{base: b, token: zklock.Token{Czxid: stat.Czxid}, remove: remove}
	l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	b.background.Go(func() {
		held, stop := conn.Until(l.ctx, life.Context())
		defer stop()
		for err == nil && stat.Czxid == l.token.Czxid && conn.Wait(held, events) == nil {
			stat, events, err = b.watch(held, node)
		}
		l.cancel(zklock.ErrLost) // no effect after a release
	})
	return l, nil
}

func (b *base) watch(ctx context.Context, node string) (stat zk.Stat, events <-chan zk.Event, err error) {
	err = conn.Retry(ctx, func() error {
		stat, events, err = b.conn.GetW(ctx, node)
		return err
	})
	return stat, events, err
}

// Token is the fencing token: it rises from each holder of the path to the next.
func (l *Lock) Token() zklock.Token { return l.token }

// Context ends when the lock is released or lost: its cause is then zklock.ErrReleased or
// zklock.ErrLost. It keeps the values of the context that Acquire was given, and not its deadline.
func (l *Lock) Context() context.Context { return l.ctx }

// Release deletes the acquisition's own node. A call after a success does nothing. zklock.ErrLost says
// that the lock was lost before; nodes that may be left are removed in the background. After any other
// error Release may be called again.
func (l *Lock) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return nil
	}
	if errors.Is(context.Cause(l.ctx), zklock.ErrLost) {
		l.released = true
		l.base.abandon(ctx, l.remove)
		return zklock.ErrLost
	}
	l.cancel(zklock.ErrReleased)
	if err := l.remove(ctx); err != nil {
		return fmt.Errorf("release lock: %w", err)
	}
	l.released = true
	return nil
}
