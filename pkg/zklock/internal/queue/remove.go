package queue

import (
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

// secondLook is the pause before a second search for nodes by their GUID. A create that was
// sent on a connection that has failed may reach the server after the session has moved to another
// connection, though not long after: package conn makes the kernel drop unsent data.
const secondLook = time.Second

// refusedPause is the pause after a delete that the server refused: somebody may give the permission.
const refusedPause = 5 * time.Second

// Remove deletes the node in the background, even after the caller's end, until the node is gone or
// the session is closed: all behind the node wait for that. The channel gets the outcome once: nil if
// the node is gone, zk.ErrNoNode if somebody else has deleted it, conn.ErrClosed if the session is
// closed first, or the reason why the server refuses to delete it for now.
func (n *Node) Remove() <-chan error {
	outcome := make(chan error, 1)
	begun := n.nodes.conn.Go(func() {
		ctx := n.nodes.conn.Context()
		n.remove(ctx, outcome)
		if !n.doubtful {
			return
		}
		timer := time.NewTimer(secondLook)
		defer timer.Stop()
		if conn.Wait(ctx, timer.C) == nil {
			_ = n.removeAgain(ctx, func(error) {}) // fails only after Close
		}
	})
	if !begun {
		outcome <- conn.ErrClosed
	}
	return outcome
}

func (n *Node) remove(ctx context.Context, outcome chan<- error) {
	report := func(err error) {
		select {
		case outcome <- err:
		default: // it has one
		}
	}
	var err error
	if n.Path != "" {
		err = n.delete()
		switch {
		case gone(err) && !n.doubtful:
			report(err)
			return
		case !gone(err) && !conn.Temporary(err):
			report(err)
		}
	}
	if err := n.removeAgain(ctx, report); err != nil {
		report(err)
		return
	}
	if n.Orphaned != nil {
		if n.Path != "" {
			n.Orphaned(n.Path)
		} else {
			n.Orphaned(n.Dir + "/" + protection(n.guid))
		}
	}
	if conn.Temporary(err) {
		err = nil
	}
	report(err)
}

// removeAgain deletes the node until it is gone. It reports each refusal, and fails only after Close.
func (n *Node) removeAgain(ctx context.Context, report func(error)) error {
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
			timer := time.NewTimer(refusedPause)
			_ = conn.Wait(ctx, timer.C) // as above
			timer.Stop()
		}
	}
}

// removeOnce deletes the node, and all that have its GUID if it is doubtful.
func (n *Node) removeOnce(ctx context.Context) error {
	if _, err := n.nodes.conn.Ready(ctx); err != nil {
		return err
	}
	var paths []string
	if n.Path != "" {
		if err := n.delete(); !gone(err) {
			return err
		}
	}
	if n.doubtful {
		found, err := n.find(ctx)
		if err != nil {
			return err
		}
		paths = append(paths, found...)
	}
	for _, p := range paths {
		if err := n.nodes.deleteNow(p); !gone(err) {
			return err
		}
	}
	return nil
}

// delete deletes the node, unless the server does so at the end of its session. Without a connection it fails
// at once: when there is one again, the session may be over. A session that ends with thousands of nodes would
// otherwise leave thousands of requests in the way of the next one's.
func (n *Node) delete() error {
	switch {
	case n.session == nil:
	case n.session.Expired():
		n.nodes.forget(n.Path)
		return zk.ErrNoNode
	case !n.nodes.conn.Up():
		return zk.ErrNoServer
	}
	return n.nodes.deleteNow(n.Path)
}

// gone reports whether the outcome of a delete is that the node is not there.
func gone(err error) bool { return err == nil || errors.Is(err, zk.ErrNoNode) }

// deleteNow deletes a node of ours, and waits for the answer however long it takes.
func (ns *Nodes) deleteNow(node string) error { return ns.deleted(node, ns.conn.ZK.Delete(node, -1)) }

// deleted notes the outcome of a delete and returns it as an error.
func (ns *Nodes) deleted(node string, err error) error {
	switch {
	case err == nil, errors.Is(err, zk.ErrNoNode):
		ns.forget(node)
	case errors.Is(err, zk.ErrClosing):
		err = conn.ErrClosed
	case conn.Temporary(err), errors.Is(err, conn.ErrClosed), ns.conn.Context().Err() != nil:
	default:
		ns.mu.Lock()
		defer ns.mu.Unlock()
		ns.stuck[node] = struct{}{}
		close(ns.refused)
		ns.refused = make(chan struct{})
		ns.conn.Log().Error("zookeeper lock node cannot be deleted", "node", node, "cause", err)
		if errors.Is(err, zk.ErrNoAuth) {
			err = fmt.Errorf("give delete permission on its parent: %w", err)
		}
		err = fmt.Errorf("node %s cannot be deleted for now and stays until the session ends: %w", node, err)
	}
	return err
}

func (ns *Nodes) forget(node string) {
	ns.conn.Drop(node)
	ns.mu.Lock()
	defer ns.mu.Unlock()
	delete(ns.own, node)
	delete(ns.stuck, node)
}

// Unstick fails if a node of ours in dir may not be deleted: later contenders would wait until the
// session ends. It tries again, since the permission may have been given since. refused is
// closed when the next node of ours may not be deleted.
func (ns *Nodes) Unstick(ctx context.Context, dir string) (refused <-chan struct{}, err error) {
	ns.mu.Lock()
	refused = ns.refused
	var nodes []string
	for node := range ns.stuck {
		if path.Dir(node) == dir {
			nodes = append(nodes, node)
		}
	}
	ns.mu.Unlock()
	for _, node := range nodes {
		if err := ns.deleted(node, ns.conn.Delete(ctx, node)); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return nil, err
		}
	}
	return refused, nil
}

// RemoveAll deletes all nodes of a session whose connection goes on. It tries again for limit.
func (ns *Nodes) RemoveAll(limit time.Duration) {
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
