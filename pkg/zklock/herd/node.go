package herd

import (
	"context"
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
	// cleanupTimeout bounds the removal of a node whose acquirer has gone. A session that cannot be
	// reached for so long has usually expired, and its nodes with it.
	cleanupTimeout = 30 * time.Second
	// retryDelay is the pause before a request that failed with its connection is sent again.
	retryDelay = 50 * time.Millisecond
)

// node is what all locks here need of the connection: calls that a context can end, and the
// removal of own nodes that outlives the call that made them.
type node struct {
	session    *zklock.Session
	conn       *zk.Conn
	acl        []zk.ACL
	wakeups    atomic.Int64
	background sync.WaitGroup
}

func (n *node) init(s *zklock.Session) {
	n.session, n.conn, n.acl = s, s.Conn(), zk.WorldACL(zk.PermAll)
}

// Wakeups counts the watch events that woke a waiter of this value since it was made.
func (n *node) Wakeups() int64 { return n.wakeups.Load() }

// Wait returns when nothing of this value runs in the background any more: no handle is held and
// every abandoned node is removed, or given up after thirty seconds.
func (n *node) Wait() { n.background.Wait() }

// call runs a request of the client library, which knows no context, until ctx ends. A request
// that is left behind ends with its connection.
func call[T any](ctx context.Context, request func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := request()
		answers <- answer{value, err}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// retry calls again while the connection is the trouble: the request was perhaps not made.
func retry[T any](ctx context.Context, request func() (T, error)) (T, error) {
	for {
		value, err := call(ctx, request)
		if !disconnected(err) {
			return value, err
		}
		select {
		case <-ctx.Done():
			return value, context.Cause(ctx)
		case <-time.After(retryDelay):
		}
	}
}

func disconnected(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer)
}

type read struct {
	names  []string
	exists bool
	stat   *zk.Stat
	events <-chan zk.Event
}

func (n *node) getW(ctx context.Context, p string) (*zk.Stat, <-chan zk.Event, error) {
	r, err := retry(ctx, func() (read, error) {
		_, stat, events, err := n.conn.GetW(p)
		return read{stat: stat, events: events}, err
	})
	return r.stat, r.events, err
}

func (n *node) childrenW(ctx context.Context, p string) ([]string, <-chan zk.Event, error) {
	r, err := retry(ctx, func() (read, error) {
		names, _, events, err := n.conn.ChildrenW(p)
		return read{names: names, events: events}, err
	})
	return r.names, r.events, err
}

func (n *node) existsW(ctx context.Context, p string) (bool, <-chan zk.Event, error) {
	r, err := retry(ctx, func() (read, error) {
		exists, _, events, err := n.conn.ExistsW(p)
		return read{exists: exists, events: events}, err
	})
	return r.exists, r.events, err
}

// makeParents creates the node and all above it. It asks nobody first: of any number of
// first-comers one creates, and to the others an existing node is what they wanted (fault I).
func (n *node) makeParents(ctx context.Context, p string) error {
	_, err := retry(ctx, func() (string, error) { return n.conn.Create(p, nil, zk.FlagPersistent, n.acl) })
	if errors.Is(err, zk.ErrNoNode) {
		if err := n.makeParents(ctx, path.Dir(p)); err != nil {
			return err
		}
		return n.makeParents(ctx, p)
	}
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return fmt.Errorf("create parent %s: %w", p, err)
	}
	return nil
}

// wake waits for a watch event; it counts it, since the counting is what these locks are for.
func (n *node) wake(ctx context.Context, events <-chan zk.Event) error {
	select {
	case ev := <-events:
		if errors.Is(ev.Err, zk.ErrClosing) {
			return ev.Err
		}
		n.wakeups.Add(1)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// remove deletes one node; that it is gone already is no error. A delete whose reply was lost is
// sent again.
func (n *node) remove(ctx context.Context, p string) error {
	_, err := retry(ctx, func() (struct{}, error) { return struct{}{}, n.conn.Delete(p, -1) })
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrSessionExpired) {
		return nil
	}
	return err
}

// abandon removes what an acquisition that failed may have left, on a context of its own: the
// caller's has usually just ended (fault L).
func (n *node) abandon(ctx context.Context, remove func(context.Context) error) {
	n.background.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		// An error here has nobody to go to: the node then lives as long as its session.
		_ = remove(ctx)
	})
}
