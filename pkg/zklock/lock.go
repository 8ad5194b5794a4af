package zklock

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Lock is one acquisition: its handle. Nothing done with it touches a later acquisition. Its
// methods are safe for concurrent use.
type Lock struct {
	path     string
	token    Token
	ctx      context.Context //nolint:containedctx // its end is what it is for: see Context
	end      context.CancelCauseFunc
	giveUp   func(context.Context) error
	hooks    Hooks
	since    instant
	unhook   func() bool // nil without a hook for the loss
	released atomic.Bool
}

// newLock makes a handle under life, the context of what it rests on. Values are looked up in
// the acquirer's context as well.
func newLock(ctx, life context.Context, path string, token Token, hooks Hooks) *Lock {
	l := &Lock{path: path, token: token, hooks: hooks, since: now()}
	life, l.end = context.WithCancelCause(life)
	l.ctx = lifeContext{life, ctx}
	if hooks.Lost != nil {
		l.unhook = context.AfterFunc(life, func() { hooks.lost(path, context.Cause(life)) })
	}
	return l
}

// Path returns the lock's path in ZooKeeper.
func (l *Lock) Path() string { return l.path }

// Token returns the fencing token of this acquisition.
func (l *Lock) Token() Token { return l.token }

// Context returns a context that ends when the lock is lost or released; context.Cause tells
// which, by ErrLost or ErrReleased. It has the values of the context that Acquire was given, but
// does not end with it. Work that the lock protects should run under it.
func (l *Lock) Context() context.Context { return l.ctx }

// Release gives the lock up. It returns nil once no node of this acquisition holds others up, or
// when the process keeps the node and has handed the lock on or may do so; ErrLost where the lock
// was lost before, which means that others may have held it at the same time; ErrReleased the
// second time; and the context's error where ctx ends before ZooKeeper has answered. In
// every case the lock is not this holder's any more, and the node will be removed.
func (l *Lock) Release(ctx context.Context) error {
	if l.released.Swap(true) {
		return fmt.Errorf("release %s: %w", l.path, ErrReleased)
	}
	l.hooks.held(l.path, l.since)
	untold := l.unhook != nil && l.unhook()
	lost := context.Cause(l.ctx)
	if untold && lost != nil { // the release was before the news
		l.hooks.lost(l.path, lost)
	}
	l.end(ErrReleased)
	err := l.giveUp(ctx)
	if lost != nil {
		err = lost
	}
	if err != nil {
		return fmt.Errorf("release %s: %w", l.path, err)
	}
	return nil
}

// under returns ctx with an earlier end: that of life, with its cause. Call stop when it is not
// needed any more.
func under(ctx, life context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unlink := context.AfterFunc(life, func() { cancel(context.Cause(life)) })
	return ctx, func() {
		unlink()
		cancel(nil)
	}
}

// lifeContext ends as Context does and has the values of both.
type lifeContext struct {
	context.Context
	values context.Context //nolint:containedctx // it is a context
}

// Value asks the context that ends first, as the context package looks itself up this way.
func (c lifeContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}
