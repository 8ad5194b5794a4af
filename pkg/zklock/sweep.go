package zklock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// orphan is a node that nobody serves any more and that is, or may be, still there: without its
// removal all behind it would wait for as long as the session lives.
type orphan struct {
	path  string // of the node, empty where it is not known
	dir   string // where to look for the GUID, empty where the path is enough
	guid  string
	hooks Hooks
	gone  chan struct{} // closed when it is known to be gone
}

// secondLook is when an orphan that was looked for by its GUID is looked for again. A create that
// was sent on a connection that has failed may reach the server after the session has gone on over
// another one, though not long after, as wire.Close makes the kernel forget it.
const secondLook = time.Second

func (n *node) orphan() *orphan {
	o := &orphan{path: n.path, hooks: n.hooks, gone: make(chan struct{})}
	if n.doubtful || n.path == "" {
		o.dir, o.guid = n.dir, n.guid
	}
	return o
}

// sweep removes the orphan in the background: however long the connection is away, and whatever
// became of the context of the acquisition that left it.
func (s *Session) sweep(o *orphan) { s.spawn(func() { s.sweepUp(o) }) }

func (s *Session) sweepUp(o *orphan) {
	ctx := s.ctx
	for pause := (retryPause{}); s.sweepOnce(ctx, o) != nil; {
		if pause.wait(ctx, s) != nil {
			return
		}
	}
	o.hooks.orphaned(o.path + o.dir + o.guid)
	close(o.gone)
	if o.guid == "" {
		return
	}
	select {
	case <-time.After(secondLook):
	case <-ctx.Done():
		return
	}
	for pause := (retryPause{}); s.sweepOnce(ctx, o) != nil; {
		if pause.wait(ctx, s) != nil {
			return
		}
	}
}

// sweepOnce returns an error where the orphan may still be there and trying again may help.
func (s *Session) sweepOnce(ctx context.Context, o *orphan) error {
	if _, err := s.ready(ctx); err != nil {
		return err
	}
	var paths []string
	if o.path != "" {
		paths = append(paths, o.path)
	}
	if o.guid != "" {
		found, err := s.findNodes(ctx, o.dir, o.guid)
		if passing(err) || ctx.Err() != nil {
			return err
		}
		paths = append(paths, found...)
	}
	for _, p := range paths {
		if err := s.deleteNode(ctx, p, nil); passing(err) || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// deleteNode removes a node of ours, and returns zk.ErrNoNode if it is gone already. late gets the
// outcome if the caller has gone; it may be nil.
func (s *Session) deleteNode(ctx context.Context, node string, late func(error)) error {
	_, err := call(ctx, s, func() (struct{}, error) {
		return struct{}{}, s.deleteNow(node)
	}, func(_ struct{}, err error) {
		if late != nil {
			late(err)
		}
	})
	return err
}

// deleteNow is deleteNode for as long as it takes. It notes if the node may not be deleted.
func (s *Session) deleteNow(node string) error {
	err := s.conn.Delete(node, -1)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil, errors.Is(err, zk.ErrNoNode):
		delete(s.nodes, node)
		delete(s.stuck, node)
	case errors.Is(err, zk.ErrNoAuth):
		s.stuck[node] = struct{}{}
		close(s.refused)
		s.refused = make(chan struct{})
		s.log.Error("zookeeper lock node cannot be deleted", "node", node, "cause", err)
		err = fmt.Errorf("node %s cannot be deleted and stays until the session ends; give delete permission on its parent: %w", node, err)
	}
	return err
}

// unstick fails if a node of ours in dir may not be deleted: whoever comes after it would wait until
// the session ends. It tries again, as the permission may have been given since. refused is closed
// when the next node of ours may not be deleted.
func (s *Session) unstick(ctx context.Context, dir string) (refused <-chan struct{}, err error) {
	s.mu.Lock()
	refused = s.refused
	var nodes []string
	for node := range s.stuck {
		if path.Dir(node) == dir {
			nodes = append(nodes, node)
		}
	}
	s.mu.Unlock()
	for _, node := range nodes {
		if err := s.deleteNode(ctx, node, nil); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return nil, err
		}
	}
	return refused, nil
}

// discard removes the node without waiting for it.
func (n *node) discard() { n.s.spawn(func() { _ = n.remove() }) }

// remove removes the node, however long the connection is away. An error says that it cannot.
func (n *node) remove() error {
	err := n.s.deleteNode(n.s.ctx, n.path, nil)
	if passing(err) || n.doubtful {
		o := n.orphan()
		n.s.sweep(o)
		select {
		case <-o.gone:
			return nil
		case <-n.s.ctx.Done():
			return ErrSessionClosed
		}
	}
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// removeAll removes the nodes of a Session whose connection goes on.
func (s *Session) removeAll() {
	s.mu.Lock()
	paths := maps.Clone(s.nodes)
	s.mu.Unlock()
	within(closeTimeout, func() {
		var all sync.WaitGroup
		for p := range paths {
			all.Go(func() { _ = s.conn.Delete(p, -1) }) // best effort: the session may be over, too
		}
		all.Wait()
	})
}
