package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/conn"
)

var (
	// ErrVanished says that our node is gone, or is not of the current session. A contender that still
	// wants the lock queues again.
	ErrVanished = errors.New("zklock: node in the queue vanished")

	// ErrMoved says that an earlier node with our GUID has become our place in the queue: look again.
	ErrMoved = errors.New("zklock: place in the queue moved")
)

// Nodes keeps the queue nodes of one session. Its methods are safe for concurrent use.
type Nodes struct {
	conn *conn.Conn

	mu      sync.Mutex
	own     map[string]struct{} // to be removed by RemoveAll
	stuck   map[string]struct{} // nodes that may not be deleted
	refused chan struct{}       // closed when another one may not be deleted
}

// NewNodes returns the Nodes of a new session, with no node yet.
func NewNodes(c *conn.Conn) *Nodes {
	return &Nodes{conn: c, own: map[string]struct{}{}, stuck: map[string]struct{}{}, refused: make(chan struct{})}
}

// Line is one queue, and how to stand in it.
type Line struct {
	Dir   string
	Own   Kind   // of our node
	Kinds []Kind // of all that stand in it
	Rule  Rule
	// Crowd says that the waiter is woken by each change of the queue, and not by the end of its
	// predecessor only.
	Crowd bool
}

// Spec describes new nodes.
type Spec struct {
	ACL  []zk.ACL
	Data []byte
	// Orphaned is called for a node that could not be removed at once, when it is known to be gone.
	Orphaned func(node string)
}

// Node is an ephemeral sequential node of ours: a place in a queue. Only one goroutine at a time may
// use it.
type Node struct {
	Spec
	Dir  string
	Path string // empty while no create was answered

	nodes *Nodes
	guid  string
	// czxid is the transaction that created the node, and session the clock of the session that it belongs
	// to, by the answer to the create. They are 0 and nil without that answer.
	czxid   int64
	session *conn.Clock
	// names are the children of Dir for the next look; nil if it must ask.
	names []string
	// doubtful says that the outcome of a create is unknown: there may be another node with this
	// GUID, now or in a moment.
	doubtful bool
}

// Name returns the last part of the node's path.
func (n *Node) Name() string { return n.Path[strings.LastIndexByte(n.Path, '/')+1:] }

// Create makes a node for the line, and the parents that are missing. If a create is not answered, it
// looks for the node by its GUID before it makes another. If Create fails, there is no node, or it is
// being removed.
func (ns *Nodes) Create(ctx context.Context, l Line, spec Spec) (*Node, error) {
	n := &Node{Spec: spec, Dir: l.Dir, nodes: ns, guid: NewGUID()}
	_, err := ns.Unstick(ctx, l.Dir)
	if err != nil {
		return nil, err
	}
	err = conn.Retry(ctx, func() error { return n.create(ctx, l) })
	if err != nil {
		if n.doubtful {
			n.Remove()
		}
		return nil, fmt.Errorf("create node in %s: %w", l.Dir, err)
	}
	return n, nil
}

func (n *Node) create(ctx context.Context, l Line) error {
	c := n.nodes.conn
	if _, err := c.Ready(ctx); err != nil {
		return err
	}
	if n.doubtful {
		found, err := n.find(ctx)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			n.adopt(conn.Created{Path: found[0]}) // if it is not the only one, Look finds the others
			return nil
		}
	}
	for {
		prefix := n.Dir + "/" + protection(n.guid) + l.Own
		created, err := c.CreateInLine(ctx, prefix, n.Data, n.ACL, !l.Crowd, n.createdLate)
		switch {
		case err == nil:
			n.adopt(created)
			return nil
		case !errors.Is(err, zk.ErrNoNode):
			if conn.Unanswered(err) { // and not if ctx has ended: then createdLate reads n
				n.doubtful = true
			}
			return err
		}
		if err := c.MakeParents(ctx, n.Dir, n.ACL); err != nil {
			return err
		}
	}
}

// createdLate takes the outcome of a create whose caller has gone. It deletes the node itself, as the
// session may be closed by now.
func (n *Node) createdLate(created conn.Created, err error) {
	late := *n
	switch {
	case err == nil:
		late.Path = created.Path
		if gone(n.nodes.deleteNow(created.Path)) {
			return
		}
	case conn.Unanswered(err):
		late.doubtful = true
	default:
		return
	}
	late.Remove()
}

// adopt makes created this node, and begins to watch it.
func (n *Node) adopt(created conn.Created) {
	n.Path, n.czxid, n.session, n.names = created.Path, created.Czxid, created.Session, created.Names
	n.nodes.mu.Lock()
	n.nodes.own[n.Path] = struct{}{}
	n.nodes.mu.Unlock()
	n.nodes.conn.Watch(n.Path)
}

// find returns the paths of the nodes that have our GUID.
func (n *Node) find(ctx context.Context) ([]string, error) {
	names, err := n.nodes.conn.SyncedChildren(ctx, n.Dir)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, err
	}
	var found []string
	for _, name := range names {
		if strings.HasPrefix(name, protection(n.guid)) {
			found = append(found, n.Dir+"/"+name)
		}
	}
	return found, nil
}

// Place is a node's place in its queue, as a look has shown it.
type Place struct {
	Node    *Node
	Own     *conn.Watch // on the node
	Czxid   int64       // of the node
	Members []Member    // of the queue, in order
	At      int         // index of the node
}

// Listed gives the next Look the names of the queue's nodes, if they are not nil.
func (n *Node) Listed(names []string) { n.names = names }

// Look reads the queue. In a line with a crowd, changed receives its next change. Look fails with
// ErrVanished if the node is not there or is not of the session of life, and with ErrMoved if an
// earlier node with its GUID has become its place.
//
// The czxid and the session that the node is of are known from the answer to its create. If no answer
// came, the request that sets the watch on the node returns them.
func (n *Node) Look(ctx context.Context, life *conn.Lifetime, l Line) (p Place, changed <-chan zk.Event, err error) {
	c := n.nodes.conn
	p = Place{Node: n, Own: c.Watch(n.Path)}
	names := n.names
	n.names = nil
	switch {
	case l.Crowd:
		var listing conn.Listing
		listing, changed, err = c.ChildrenW(ctx, n.Dir)
		names = listing.Names
	case names == nil:
		names, err = c.Children(ctx, n.Dir)
	}
	var owner int64
	if n.session != nil {
		p.Czxid, owner = n.czxid, n.session.ID
	} else {
		stat, watchErr := p.Own.Armed(ctx)
		if err == nil {
			err = watchErr
		}
		p.Czxid, owner = stat.Czxid, stat.EphemeralOwner
	}
	if errors.Is(err, zk.ErrNoNode) || err == nil && owner != life.ID {
		return p, nil, fmt.Errorf("%s: %w", n.Path, ErrVanished)
	}
	if err != nil {
		return p, nil, err
	}
	if p.Members, err = Ordered(names, l.Kinds...); err != nil {
		return p, nil, err
	}
	if n.doubtful && n.unite(p.Members) {
		return p, nil, ErrMoved
	}
	p.At = slices.IndexFunc(p.Members, func(m Member) bool { return m.Name == n.Name() })
	if p.At < 0 {
		return p, nil, fmt.Errorf("%s: %w", n.Path, ErrVanished)
	}
	return p, changed, nil
}

// unite makes the earliest member that has our GUID this node, and removes the others: a later one
// would wait for an earlier one for ever. It reports whether the path has changed.
func (n *Node) unite(members []Member) (moved bool) {
	before, first := n.Path, true
	for _, m := range members {
		twin := n.Dir + "/" + m.Name
		switch {
		case !strings.HasPrefix(m.Name, protection(n.guid)):
		case first:
			first = false
			if twin != n.Path {
				n.adopt(conn.Created{Path: twin})
			}
		default:
			(&Node{Spec: n.Spec, Dir: n.Dir, Path: twin, nodes: n.nodes}).Remove()
		}
	}
	return n.Path != before
}
