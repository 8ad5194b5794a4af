package herd

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

// Lock is one acquisition.
type Lock struct {
	node   *node
	token  zklock.Token
	ctx    context.Context
	cancel context.CancelCauseFunc
	// remove deletes this acquisition's node; an absent node is no error.
	remove func(ctx context.Context) error

	mu       sync.Mutex
	released bool
}

// hold starts the handle of a node that was just won, and watches the node until the handle ends.
func (n *node) hold(ctx context.Context, path string, remove func(context.Context) error) (*Lock, error) {
	over := n.session.Lost()
	stat, events, err := n.getW(ctx, path)
	if errors.Is(err, zk.ErrNoNode) || err == nil && stat.EphemeralOwner != n.conn.SessionID() {
		return nil, zklock.ErrLost
	}
	if err != nil {
		return nil, err
	}
	l := &Lock{node: n, token: zklock.Token{Czxid: stat.Czxid}, remove: remove}
	l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	n.background.Go(func() { n.guard(l, path, events, over) })
	return l, nil
}

// guard ends the handle's context when its node goes or its session is over.
func (n *node) guard(l *Lock, path string, events <-chan zk.Event, over <-chan struct{}) {
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-over:
			l.cancel(zklock.ErrLost)
			return
		case ev := <-events:
			if ev.Type == zk.EventNodeDeleted || ev.Err != nil {
				l.cancel(zklock.ErrLost)
				return
			}
		}
		stat, next, err := n.getW(l.ctx, path)
		if err != nil || stat.Czxid != l.token.Czxid {
			l.cancel(zklock.ErrLost)
			return
		}
		events = next
	}
}

// Token is the fencing token: it rises from each holder of the path to the next.
func (l *Lock) Token() zklock.Token { return l.token }

// Context ends when the lock is released or lost: its cause is then zklock.ErrReleased or zklock.ErrLost. It keeps the values of
// the context that Acquire was given, and not its deadline.
func (l *Lock) Context() context.Context { return l.ctx }

// Release deletes the acquisition's own node. A second call, or one after a success, does nothing.
// zklock.ErrLost says that the lock was gone before; what may be left of it is removed in the
// background. After any other error Release may be called again.
func (l *Lock) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return nil
	}
	if errors.Is(context.Cause(l.ctx), zklock.ErrLost) {
		l.released = true
		l.node.abandon(ctx, l.remove)
		return zklock.ErrLost
	}
	l.cancel(zklock.ErrReleased)
	if err := l.remove(ctx); err != nil {
		return fmt.Errorf("release lock: %w", err)
	}
	l.released = true
	return nil
}
