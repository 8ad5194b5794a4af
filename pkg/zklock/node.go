package zklock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"
)

// node is an ephemeral sequential node of ours: a place in a queue.
type node struct {
	s     *Session
	dir   string
	path  string // empty while no create was answered
	guid  string
	acl   []zk.ACL
	data  []byte
	hooks Hooks
	// doubtful says that a create was sent whose outcome was never learnt, so that there may be
	// another node with this GUID, now or in a moment.
	doubtful bool
}

func (n *node) name() string { return path.Base(n.path) }

// createNode makes a node of the kind in dir, and dir where it is missing. Where a create is not
// answered, it looks for the node by its GUID before it makes another. When it returns an error
// there is no node, or it is being removed.
func (s *Session) createNode(ctx context.Context, dir string, k kind, o options) (*node, error) {
	n := &node{s: s, dir: dir, guid: newGUID(), acl: o.acl, data: o.data, hooks: o.hooks}
	prefix := dir + "/" + protection(n.guid) + k
	var pause retryPause
	if _, err := s.unstick(ctx, dir); err != nil {
		return nil, err
	}
	for {
		created, err := call(ctx, s, func() (string, error) {
			return s.conn.Create(prefix, n.data, zk.FlagEphemeralSequential, n.acl)
		}, n.createdLate)
		switch {
		case err == nil:
			n.adopt(created)
			return n, nil
		case errors.Is(err, zk.ErrNoNode):
			if err = s.makeParent(ctx, dir, o.acl); err == nil {
				continue
			}
		case disconnected(err):
			n.doubtful = true
		}
		if passing(err) && ctx.Err() == nil {
			err = n.findAgain(ctx, &pause)
			if err == nil && n.path == "" {
				continue
			}
		}
		if err != nil {
			if n.doubtful {
				s.sweep(n.orphan())
			}
			return nil, fmt.Errorf("create node in %s: %w", dir, err)
		}
		return n, nil
	}
}

// findAgain waits for the connection and looks whether a create without an answer was carried out.
func (n *node) findAgain(ctx context.Context, pause *retryPause) error {
	for {
		if err := pause.wait(ctx, n.s); err != nil {
			return err
		}
		if _, err := n.s.ready(ctx); err != nil {
			return err
		}
		if !n.doubtful {
			return nil
		}
		found, err := n.s.findNodes(ctx, n.dir, n.guid)
		switch {
		case passing(err):
			continue
		case err != nil:
			return err
		case len(found) > 0:
			n.adopt(found[0]) // if it is not the only one, the look at the queue finds the others
		}
		return nil
	}
}

// adopt makes created this node's path, and notes it as one to be removed at Close.
func (n *node) adopt(created string) {
	n.path = created
	n.s.mu.Lock()
	defer n.s.mu.Unlock()
	n.s.nodes[created] = struct{}{}
}

// createdLate takes the outcome of a create whose caller has gone.
func (n *node) createdLate(created string, err error) {
	late := *n
	switch {
	case err == nil:
		late.path = created
		if !passing(n.s.deleteNow(created)) {
			return
		}
	case disconnected(err):
		late.doubtful = true
	default:
		return
	}
	n.s.sweep(late.orphan())
}

// findNodes returns the paths of the nodes in dir that have the GUID. It syncs the server first: a
// create that went to another server may be proposed and not yet committed, and then a server does
// not know of it that the session has moved to.
func (s *Session) findNodes(ctx context.Context, dir, guid string) ([]string, error) {
	names, err := call(ctx, s, func() ([]string, error) {
		if _, err := s.conn.Sync(dir); err != nil {
			return nil, err
		}
		names, _, err := s.conn.Children(dir)
		return names, err
	}, nil)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []string
	for _, name := range names {
		if strings.HasPrefix(name, protection(guid)) {
			found = append(found, dir+"/"+name)
		}
	}
	return found, nil
}

// unite makes the earliest node in the queue that has the GUID this node's path, and removes the
// others: a later one would wait for an earlier one for ever. It returns whether the path is another
// now.
func (n *node) unite(queue []member) (moved bool) {
	before := n.path
	first := true
	for _, m := range queue {
		twin := n.dir + "/" + m.Name
		switch {
		case !strings.HasPrefix(m.Name, protection(n.guid)):
		case first:
			first = false
			n.adopt(twin)
		default:
			n.s.sweep(&orphan{path: twin, hooks: n.hooks, gone: make(chan struct{})})
		}
	}
	return n.path != before
}

func (s *Session) children(ctx context.Context, dir string) ([]string, error) {
	return call(ctx, s, func() ([]string, error) {
		names, _, err := s.conn.Children(dir)
		return names, err
	}, nil)
}

// newGUID returns a random UUID (RFC 9562, version 4), as Curator's names hold.
func newGUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
