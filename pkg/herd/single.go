// Package herd holds the published case study's lock of one node, whose release wakes every waiter. It is here to be
// measured against package zklock, and not to be used: with n waiters one release costs n wake-ups and n tries, and the
// server's answer time grows with the crowd (the herd effect, described in ZooKeeper's own recipes).
//
// Except for the herd effect, the lock is correct. A watch is set by the same request that reads the state it guards,
// so no deletion falls between the two; a woken waiter always tries again before it believes that it holds the lock; a
// release deletes only its acquisition's node.
//
// Missing parents are made as package zklock makes them. All types are safe for concurrent use; each Acquire returns a
// new handle.
package herd

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/retry"
	"orderstock/pkg/zkclient"
	"orderstock/pkg/zklock"
)

// pauses are those before a request that was not answered is sent again.
var pauses = retry.Policy{First: 5 * time.Millisecond, Max: time.Second}

// cleanupTimeout bounds the removal of a node whose contender has gone. A session that cannot be
// reached for so long has usually expired, and its nodes with it.
const cleanupTimeout = 30 * time.Second

// SingleNode is the case study's "low" lock: every contender creates the same ephemeral node, or
// watches it if it exists. Each release wakes all waiters, and one wins, in no order.
//
// Each acquisition has a second node, made and deleted in one transaction with the first. It proves the
// ownership: all acquisitions share one path, and a delete does not say whose node is meant, so without
// it a stale release would delete the next holder's node (fault M).
type SingleNode struct {
	// Woken is called for each watch event that wakes a waiter of this value, by many at once. It may be nil.
	Woken func()

	s    *zklock.Session
	path string
}

// NewSingleNode returns a lock on path, which becomes an ephemeral node while it is held.
func NewSingleNode(s *zklock.Session, path string) *SingleNode { return &SingleNode{s: s, path: path} }

// Acquire waits until the lock is held or ctx ends; it then returns ctx's cause. It does not survive the loss of
// the session.
func (m *SingleNode) Acquire(ctx context.Context) (*Lock, error) {
	l := &Lock{s: m.s, path: m.path, proof: m.path + "." + rand.Text(), lost: m.s.Lost()}
	l.ctx, l.end = context.WithCancelCause(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-l.lost:
			l.end(zklock.ErrLost)
		case <-l.ctx.Done():
		}
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })()
	defer cancel(nil)
	err := m.take(ctx, l)
	if err == nil {
		err = l.hold(ctx)
	}
	if err != nil {
		l.end(err)
		go l.abandon(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("acquire %s: %w", m.path, err)
	}
	return l, nil
}

// Lock is one acquisition.
type Lock struct {
	s           *zklock.Session
	path, proof string
	lost        <-chan struct{} // closed with the session in which it was acquired
	token       zklock.Token
	ctx         context.Context
	end         context.CancelCauseFunc

	requests sync.WaitGroup // that are under way
}

// ask runs a request, again until it is answered or ctx ends.
func ask[T any](ctx context.Context, l *Lock, request func(*zk.Conn) (T, error)) (T, error) {
	return retry.Do(ctx, pauses, func() (T, error) {
		l.requests.Add(1)
		answer, err := zkclient.Call(ctx, func() (T, error) {
			defer l.requests.Done()
			return request(l.s.Conn())
		})
		for _, later := range []error{zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrSessionExpired, zk.ErrSessionMoved} {
			if errors.Is(err, later) {
				return answer, err
			}
		}
		return answer, retry.Stop(err)
	})
}

// take creates the node, or waits for its end and tries again.
func (m *SingleNode) take(ctx context.Context, l *Lock) error {
	for {
		won, err := l.create(ctx)
		if err != nil || won {
			return err
		}
		// The request that looks sets the watch: a deletion before it is seen, one after it wakes (fault J).
		gone, err := ask(ctx, l, func(c *zk.Conn) (<-chan zk.Event, error) {
			exists, _, gone, err := c.ExistsW(m.path)
			if !exists {
				gone = nil
			}
			return gone, err
		})
		if err != nil {
			return err
		}
		if gone == nil {
			continue
		}
		select {
		case <-gone:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if m.Woken != nil {
			m.Woken()
		}
	}
}

// create makes the lock's node and the proof together, and reports whether it did. If a create was not answered, the
// proof shows whether it took effect.
func (l *Lock) create(ctx context.Context) (won bool, err error) {
	acl := l.s.ACL()
	_, err = ask(ctx, l, func(c *zk.Conn) (struct{}, error) {
		_, err := c.Multi(
			&zk.CreateRequest{Path: l.path, Acl: acl, Flags: zk.FlagEphemeral},
			&zk.CreateRequest{Path: l.proof, Acl: acl, Flags: zk.FlagEphemeral},
		)
		if errors.Is(err, zk.ErrNoNode) { // if several are the first, one of them makes the parent (fault I)
			err = cmp.Or(zkclient.MakePath(path.Dir(l.path), func(dir string) error {
				_, err := c.CreateContainer(dir, nil, zk.FlagContainer, acl)
				return err
			}), zk.ErrNoServer) // try again
		}
		return struct{}{}, err
	})
	if !errors.Is(err, zk.ErrNodeExists) {
		return err == nil, err
	}
	return ask(ctx, l, func(c *zk.Conn) (bool, error) {
		exists, _, err := c.Exists(l.proof)
		return exists, err
	})
}

// state is a lock's node as it was, and its next change.
type state struct {
	stat    *zk.Stat
	changed <-chan zk.Event
}

func (l *Lock) look(ctx context.Context) (state, error) {
	return ask(ctx, l, func(c *zk.Conn) (state, error) {
		_, stat, changed, err := c.GetW(l.path)
		return state{stat, changed}, err
	})
}

// hold watches the node, which has just been made, until the handle ends.
func (l *Lock) hold(ctx context.Context) error {
	now, err := l.look(ctx)
	if errors.Is(err, zk.ErrNoNode) || err == nil && now.stat.EphemeralOwner != l.s.ID() {
		return zklock.ErrLost
	}
	if err != nil {
		return err
	}
	l.token = zklock.Token{Czxid: now.stat.Czxid}
	go func() {
		for err == nil && now.stat.Czxid == l.token.Czxid {
			select {
			case <-now.changed:
			case <-l.ctx.Done():
				return
			}
			now, err = l.look(l.ctx)
		}
		l.end(zklock.ErrLost) // no effect after a release
	}()
	return nil
}

// Token is the fencing token: it rises from each holder of the path to the next.
func (l *Lock) Token() zklock.Token { return l.token }

// Context ends when the lock is released or lost: its cause is then zklock.ErrReleased or
// zklock.ErrLost. It keeps the values of the context that Acquire was given, and not its deadline.
func (l *Lock) Context() context.Context { return l.ctx }

// Release deletes the acquisition's own node. A call after a success changes nothing. zklock.ErrLost says
// that the lock was lost before; nodes that may be left are removed in the background. After any other
// error Release may be called again.
func (l *Lock) Release(ctx context.Context) error {
	l.end(zklock.ErrReleased)
	if errors.Is(context.Cause(l.ctx), zklock.ErrLost) {
		go l.abandon(context.WithoutCancel(ctx))
		return zklock.ErrLost
	}
	err := l.remove(ctx)
	select {
	case <-l.lost: // the server removes the nodes
		err = zklock.ErrLost
	default:
	}
	if err != nil {
		return fmt.Errorf("release lock: %w", err)
	}
	return nil
}

// remove deletes the nodes. That they are gone already is no error.
func (l *Lock) remove(ctx context.Context) error {
	_, err := ask(ctx, l, func(c *zk.Conn) (struct{}, error) {
		_, err := c.Multi(
			&zk.DeleteRequest{Path: l.proof, Version: -1}, &zk.DeleteRequest{Path: l.path, Version: -1})
		return struct{}{}, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// abandon removes the nodes that an acquisition may have left, in its own time, since the caller's has usually just
// ended (fault L). If it fails, the nodes live as long as their session.
func (l *Lock) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	l.requests.Wait()
	_ = l.remove(ctx) // best effort
}
