package zklock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/conn"
)

const (
	// secondSearch is the pause before a second search for nodes by their GUID. A create that was
	// sent on a connection that has failed may reach the server after the session has moved to another
	// connection, though not long after: package conn makes the kernel drop unsent data.
	secondSearch = time.Second
	// refusedPause is the pause after a delete that the server refused: somebody may give the permission.
	refusedPause = 5 * time.Second
	// maxLast bounds the memory for paths that are not used any more; see nodes.last.
	maxLast = 1024
)

// remove deletes the node in the background, even after the caller's end, until the node is gone or the session is
// closed: all behind the node wait for that. The channel gets the outcome once: nil if the node is gone, ErrLost if
// somebody else has deleted it or its session has expired, ErrSessionClosed if the session is closed first, or the
// reason why the server refuses to delete it for now. If the session was closed before, the node is deleted once.
func (n *node) remove() <-chan error {
	outcome := make(chan error, 1)
	report := func(err error) {
		select {
		case outcome <- err:
		default: // it has one
		}
	}
	begun := n.s.conn.Go(func() {
		ctx := n.s.conn.Context()
		n.removeUntilGone(ctx, report)
		if n.doubtful && conn.Sleep(ctx, secondSearch) == nil {
			_ = n.removeAgain(ctx, func(error) {}) // fails only after Close
		}
	})
	if !begun {
		report(ErrSessionClosed)
		// Close may not have seen it, and the connection of a caller goes on. On a closed one this fails, as with no path.
		go func() { _ = n.s.nodes.deleteNow(n.path) }()
	}
	return outcome
}

func (n *node) removeUntilGone(ctx context.Context, report func(error)) {
	if n.path != "" {
		err := n.delete()
		if err == nil && n.alone {
			n.s.nodes.keepLast(n)
		}
		switch {
		case gone(err) && !n.doubtful:
			report(n.loss(err))
			return
		case !gone(err) && !conn.Temporary(err):
			report(err)
		}
	}
	if err := n.removeAgain(ctx, report); err != nil {
		report(err)
		return
	}
	if n.opts.hooks.Orphaned != nil {
		n.opts.hooks.Orphaned(cmp.Or(n.path, n.dir+"/"+protection(n.guid)))
	}
	report(n.loss(nil)) // that it was not there the second time may be the work of the first
}

// loss returns ErrLost if, by the outcome of its delete, the node had gone before.
func (n *node) loss(err error) error {
	switch {
	case n.clock != nil && n.clock.Expired():
		return ErrExpired
	case errors.Is(err, zk.ErrNoNode):
		return ErrDeleted
	}
	return err
}

// removeAgain deletes the node until it is gone. It reports each refusal, and fails only after Close.
func (n *node) removeAgain(ctx context.Context, report func(error)) error {
	for pause := (conn.Pause{}); ; {
		err := n.removeOnce(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			return nil
		case conn.Temporary(err):
			_ = pause.Wait(ctx) // the loop checks whether ctx has ended
		default:
			report(err)
			_ = conn.Sleep(ctx, refusedPause) // as above
		}
	}
}

// removeOnce deletes the node, and all that have its GUID if it is doubtful.
func (n *node) removeOnce(ctx context.Context) error {
	if _, err := n.s.conn.Ready(ctx); err != nil {
		return err
	}
	if n.path != "" {
		if err := n.delete(); !gone(err) {
			return err
		}
	}
	if !n.doubtful {
		return nil
	}
	found, err := n.find(ctx)
	for _, p := range found {
		if err := n.s.nodes.deleteNow(p); !gone(err) {
			return err
		}
	}
	return err
}

// delete deletes the node, unless the server does so at the end of its session. Without a connection it fails
// at once: when there is one again, the session may be over. A session that ends with thousands of nodes would
// otherwise leave thousands of requests in the way of the next one's.
func (n *node) delete() error {
	switch {
	case n.clock == nil:
	case n.clock.Expired():
		n.s.nodes.forget(n.path)
		return zk.ErrNoNode
	case !n.s.conn.Up():
		return zk.ErrNoServer
	}
	return n.s.nodes.deleteNow(n.path)
}

// gone reports whether the outcome of a delete is that the node is not there.
func gone(err error) bool { return err == nil || errors.Is(err, zk.ErrNoNode) }

// nodes are the queue nodes of one Session. Its methods are safe for concurrent use.
type nodes struct {
	conn *conn.Conn

	mu      sync.Mutex
	own     map[string]struct{} // that may exist, by path
	refused map[string]struct{} // that the server refuses to delete
	another chan struct{}       // closed when it refuses another one
	last    map[string]node     // by dir: the latest that was the only child there and is deleted; see node.follows
}

func newNodes(c *conn.Conn) *nodes {
	return &nodes{
		conn: c, own: map[string]struct{}{}, refused: map[string]struct{}{}, another: make(chan struct{}),
		last: map[string]node{},
	}
}

// keepLast keeps a node that was alone and is deleted, for the next one in its place.
func (ns *nodes) keepLast(n *node) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if len(ns.last) == maxLast {
		clear(ns.last)
	}
	ns.last[n.dir] = *n
}

func (ns *nodes) add(node string) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	ns.own[node] = struct{}{}
}

func (ns *nodes) forget(node string) {
	ns.conn.Drop(node)
	ns.mu.Lock()
	defer ns.mu.Unlock()
	delete(ns.own, node)
	delete(ns.refused, node)
}

// deleteNow deletes a node of ours, and waits for the answer however long it takes.
func (ns *nodes) deleteNow(node string) error { return ns.deleted(node, ns.conn.ZK.Delete(node, -1)) }

// deleted notes the outcome of a delete and returns it as an error.
func (ns *nodes) deleted(node string, err error) error {
	switch {
	case gone(err):
		ns.forget(node)
	case errors.Is(err, zk.ErrClosing):
		err = ErrSessionClosed
	case conn.Temporary(err), errors.Is(err, ErrSessionClosed), ns.conn.Context().Err() != nil:
	default:
		ns.mu.Lock()
		defer ns.mu.Unlock()
		ns.refused[node] = struct{}{}
		close(ns.another)
		ns.another = make(chan struct{})
		ns.conn.Log.Error("zookeeper lock node cannot be deleted", "node", node, "cause", err)
		if errors.Is(err, zk.ErrNoAuth) {
			err = fmt.Errorf("give delete permission on its parent: %w", err)
		}
		err = fmt.Errorf("node %s cannot be deleted for now and stays until the session ends: %w", node, err)
	}
	return err
}

// deleteAgain fails if the server refuses to delete a node of ours in dir: later contenders would wait until
// the session ends. It tries again, since the permission may have been given since. another is closed when
// the server refuses to delete the next node of ours.
func (ns *nodes) deleteAgain(ctx context.Context, dir string) (another <-chan struct{}, err error) {
	ns.mu.Lock()
	another = ns.another
	var refused []string
	for node := range ns.refused {
		if path.Dir(node) == dir {
			refused = append(refused, node)
		}
	}
	ns.mu.Unlock()
	for _, node := range refused {
		_, err := conn.Do(ctx, ns.conn, func() (struct{}, error) { return struct{}{}, ns.conn.ZK.Delete(node, -1) })
		if err := ns.deleted(node, err); !gone(err) {
			return nil, err
		}
	}
	return another, nil
}

// removeAll deletes all nodes of a session whose connection goes on. It tries again for limit.
func (ns *nodes) removeAll(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ns.conn.Context()), limit)
	defer cancel()
	ns.mu.Lock()
	own := maps.Clone(ns.own)
	ns.mu.Unlock()
	var all sync.WaitGroup
	for p := range own {
		all.Go(func() { _ = conn.Retry(ctx, func() error { return ns.conn.ZK.Delete(p, -1) }) }) // best effort
	}
	all.Wait()
}
