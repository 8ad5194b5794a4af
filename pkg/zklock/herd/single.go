package herd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

const (
	// retryPause is the pause after a request that failed with the connection.
	retryPause = 20 * time.Millisecond
	// cleanupTimeout bounds the removal of a node whose contender has gone. A session that cannot be
	// reached for so long has usually expired, and its nodes with it.
	cleanupTimeout = 30 * time.Second
)

// SingleNode is the case study's "low" lock: every contender creates the same ephemeral node, or
// watches it if it exists. Each release wakes all waiters, and one wins, in no order.
//
// Each acquisition has a second node, made and deleted in one transaction with the first. It proves the
// ownership: all acquisitions share one path, and a delete does not say whose node is meant, so without
// it a stale release would delete the next holder's node (fault M).
type SingleNode struct {
	s       *zklock.Session
	path    string
	wakeups atomic.Int64
}

// NewSingleNode returns a lock on path, which becomes an ephemeral node while it is held.
func NewSingleNode(s *zklock.Session, path string) *SingleNode { return &SingleNode{s: s, path: path} }

// Wakeups counts the watch events that woke a waiter of this value since it was made.
func (m *SingleNode) Wakeups() int64 { return m.wakeups.Load() }

// Acquire waits until the lock is held or ctx ends; it then returns ctx's cause. It does not survive the loss of
// the session.
func (m *SingleNode) Acquire(ctx context.Context) (*Lock, error) {
	lock, err := m.acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", m.path, err)
	}
	return lock, nil
}

func (m *SingleNode) acquire(ctx context.Context) (*Lock, error) {
	lost := m.s.Lost()
	for {
		l := &Lock{m: m, proof: m.path + "." + rand.Text(), lost: lost}
		won, err := l.create(ctx)
		if won && err == nil {
			err = l.hold(ctx)
		}
		if err != nil {
			go l.abandon(context.WithoutCancel(ctx))
			return nil, err
		}
		if won {
			return l, nil
		}
		// The request that looks sets the watch: a deletion before it is seen, one after it wakes (fault J).
		exists, events, err := l.watch(ctx, func() (bool, <-chan zk.Event, error) {
			exists, _, events, err := m.s.Conn().ExistsW(m.path)
			return exists, events, err
		})
		if err != nil {
			return nil, err
		}
		if !exists {
			continue
		}
		select {
		case <-events:
			m.wakeups.Add(1)
		case <-lost:
			return nil, zklock.ErrLost
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// watch runs a request that sets a watch, again until it is answered or ctx ends.
func (l *Lock) watch(ctx context.Context, request func() (bool, <-chan zk.Event, error)) (
	exists bool, events <-chan zk.Event, err error,
) {
	type look struct {
		exists bool
		events <-chan zk.Event
	}
	var got look
	err = again(ctx, l.lost, func() error {
		got, err = zklock.Call(ctx, func() (look, error) {
			exists, events, err := request()
			return look{exists, events}, err
		})
		return err
	})
	return got.exists, got.events, err
}

// again calls request until it fails for another reason than the connection, with pauses. It ends with ctx or lost.
func again(ctx context.Context, lost <-chan struct{}, request func() error) error {
	for {
		err := request()
		if !errors.Is(err, zk.ErrConnectionClosed) && !errors.Is(err, zk.ErrNoServer) {
			return err
		}
		select {
		case <-time.After(retryPause):
		case <-lost:
			return zklock.ErrLost
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Lock is one acquisition.
type Lock struct {
	m     *SingleNode
	proof string
	lost  <-chan struct{} // closed with the session in which it was acquired
	token zklock.Token
	ctx   context.Context
	end   context.CancelCauseFunc

	creates sync.WaitGroup // that are under way

	mu       sync.Mutex
	released bool
}

// create makes the lock's node and the proof together, and reports whether it did. If a create was not answered, the
// proof shows whether it took effect.
func (l *Lock) create(ctx context.Context) (won bool, err error) {
	c, acl := l.m.s.Conn(), l.m.s.ACL()
	err = again(ctx, l.lost, func() error {
		l.creates.Add(1)
		_, err := zklock.Call(ctx, func() ([]zk.MultiResponse, error) {
			defer l.creates.Done()
			return c.Multi(
				&zk.CreateRequest{Path: l.m.path, Acl: acl, Flags: zk.FlagEphemeral},
				&zk.CreateRequest{Path: l.proof, Acl: acl, Flags: zk.FlagEphemeral},
			)
		})
		if errors.Is(err, zk.ErrNoNode) { // if several are the first, one of them makes the parent (fault I)
			_, err = zklock.Call(ctx, func() (struct{}, error) {
				return struct{}{}, zklock.MakePath(path.Dir(l.m.path), func(node string) error {
					_, err := c.CreateContainer(node, nil, zk.FlagContainer, acl)
					return err
				})
			})
			if err == nil {
				err = zk.ErrNoServer // again
			}
		}
		return err
	})
	if !errors.Is(err, zk.ErrNodeExists) {
		return err == nil, err
	}
	won, _, err = l.watch(ctx, func() (bool, <-chan zk.Event, error) {
		exists, _, err := c.Exists(l.proof)
		return exists, nil, err
	})
	return won, err
}

// hold watches the node, which has just won, until the handle ends.
func (l *Lock) hold(ctx context.Context) error {
	var stat *zk.Stat
	look := func() (bool, <-chan zk.Event, error) {
		_, s, events, err := l.m.s.Conn().GetW(l.m.path)
		stat = s
		return err == nil, events, err
	}
	_, events, err := l.watch(ctx, look)
	if errors.Is(err, zk.ErrNoNode) || err == nil && stat.EphemeralOwner != l.m.s.ID() {
		return zklock.ErrLost
	}
	if err != nil {
		return err
	}
	l.token = zklock.Token{Czxid: stat.Czxid}
	l.ctx, l.end = context.WithCancelCause(context.WithoutCancel(ctx))
	go func() {
		defer l.end(zklock.ErrLost) // no effect after a release
		for err == nil && stat.Czxid == l.token.Czxid {
			select {
			case <-events:
				_, events, err = l.watch(l.ctx, look)
			case <-l.lost:
				return
			case <-l.ctx.Done():
				return
			}
		}
	}()
	return nil
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
		go l.abandon(context.WithoutCancel(ctx))
		return zklock.ErrLost
	}
	l.end(zklock.ErrReleased)
	if err := l.remove(ctx, l.lost); err != nil {
		return fmt.Errorf("release lock: %w", err)
	}
	l.released = true
	return nil
}

// remove deletes the nodes. That they are gone already is no error.
func (l *Lock) remove(ctx context.Context, lost <-chan struct{}) error {
	err := again(ctx, lost, func() error {
		_, err := zklock.Call(ctx, func() ([]zk.MultiResponse, error) {
			return l.m.s.Conn().Multi(&zk.DeleteRequest{Path: l.proof, Version: -1},
				&zk.DeleteRequest{Path: l.m.path, Version: -1})
		})
		return err
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
	l.creates.Wait()
	_ = l.remove(ctx, nil) // best effort
}
