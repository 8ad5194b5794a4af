package zklock

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// Lock is one acquisition: its handle. Nothing done with it touches a later acquisition. Its
// methods are safe for concurrent use.
type Lock struct {
	path     string
	token    Token
	ctx      context.Context //nolint:containedctx // its end is what it is for: see Context
	life     context.Context //nolint:containedctx // what ctx rests on, without values
	end      context.CancelCauseFunc
	giveUp   func(context.Context) error
	claims   []*claim // what it rests on
	hooks    Hooks
	since    instant
	unhook   func() bool // nil without a hook for the loss
	released atomic.Bool
}

// newLock makes a handle under life, the context of what it rests on, which has no values. Those of
// the handle's context are the acquirer's.
func newLock(ctx, life context.Context, path string, token Token, hooks Hooks) *Lock {
	l := &Lock{path: path, token: token, hooks: hooks, since: now()}
	l.life, l.end = context.WithCancelCause(life)
	l.ctx = lifeContext{l.life, ctx}
	if hooks.Lost != nil {
		l.unhook = context.AfterFunc(l.life, func() { hooks.lost(path, context.Cause(l.life)) })
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

// Valid says whether the lock is this holder's, by all that can be known without asking the server.
// Unlike Context it needs no timer to have fired: a process that was paused may ask it first.
func (l *Lock) Valid() bool { return l.ValidFor() > 0 }

// ValidFor returns for how long the lock is this holder's for certain even if nothing more is heard
// from ZooKeeper: 0 if it is lost or released, and one session timeout at most. It rests on what
// the end of Context rests on; see the package's documentation. An administrator who deletes the
// lock's node is not foreseen.
func (l *Lock) ValidFor() time.Duration {
	if l.ctx.Err() != nil {
		return 0
	}
	return max(0, l.claims[0].term.lease.left())
}

// Guard returns operations for a multi of the session's connection, or another's, by which the
// rest of the multi is done only if ZooKeeper has not given the lock to another: it fails with
// zk.ErrNoNode otherwise. So a holder that was paused changes nothing in ZooKeeper, without a token
// to compare; it is what IsOwner is in package concurrency of etcd's client.
//
//	_, err := session.Conn().Multi(append(lock.Guard(), &zk.SetDataRequest{Path: path, Data: data, Version: -1})...)
//
// Local hand-off does without ZooKeeper, so release the lock only when the multi was answered.
func (l *Lock) Guard() []any {
	operations := make([]any, 0, len(l.claims)+1)
	for _, c := range l.claims {
		operations = append(operations, &zk.CheckVersionRequest{Path: c.path, Version: -1})
	}
	return operations
}

// Release gives the lock up. It returns nil once no node of this acquisition holds others up, or
// when the process keeps the node and has handed the lock on or may do so; ErrLost where the lock
// was lost before, which means that others may have held it at the same time; ErrReleased the
// second time; and the context's error where ctx ends before ZooKeeper has answered. In
// every case the lock is not this holder's any more, and the node will be removed.
func (l *Lock) Release(ctx context.Context) error {
	if err := l.finish(ctx, l.giveUp); err != nil {
		return fmt.Errorf("release %s: %w", l.path, err)
	}
	return nil
}

// finish ends the handle, once, and has giveUp do the rest.
func (l *Lock) finish(ctx context.Context, giveUp func(context.Context) error) error {
	if l.released.Swap(true) {
		return ErrReleased
	}
	l.hooks.held(l.path, l.since)
	untold := l.unhook != nil && l.unhook()
	lost := context.Cause(l.ctx)
	if untold && lost != nil { // the release was before the news
		l.hooks.lost(l.path, lost)
	}
	l.end(ErrReleased)
	err := giveUp(ctx)
	if lost != nil {
		err = lost
	}
	return err
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

// lifeContext ends as Context does, which has no values, and has those of another.
type lifeContext struct {
	context.Context
	values context.Context //nolint:containedctx // it is a context
}

// Value asks the context that ends first: the context package looks itself up this way, and finds
// the cause of the end there. Nothing else is there to be found.
func (c lifeContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}
