package zklock

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/conn"
)

// errVanished says that our node is gone, or is not of the current session. A contender that still
// wants the lock queues again.
var errVanished = errors.New("zklock: node in the queue vanished")

// line is one queue, and how to stand in it.
type line struct {
	dir         string
	own         kind   // of our node
	kinds       []kind // of all that stand in it
	before      rule
	watchParent bool // each change of the queue wakes a waiter, and not only the end of its predecessor
	opts        *options
	// behind is not nil in the background, where nobody waits for the acquisition to end with its context. It shows
	// whether another contender is before our node.
	behind *atomic.Bool
}

// node is our place in a queue: an ephemeral sequential node. Only one goroutine at a time may use it.
type node struct {
	line
	s    *Session
	guid string
	path string // empty while no create was answered
	// czxid, clock and over are of conn.Created. They are 0 and nil without an answer to the create.
	czxid int64
	clock *conn.Clock
	over  any
	// names are the children of dir for the next look; nil if it must ask.
	names []string
	// followers is how many others were behind the node when it was looked at. alone: dir had no other child then.
	followers int
	alone     bool
	// doubtful says that the outcome of a create is unknown: there may be another node with this GUID, now or in a moment.
	doubtful bool
}

// name returns the last part of the node's path.
func (n *node) name() string { return n.path[strings.LastIndexByte(n.path, '/')+1:] }

// create makes a node in the line, and the parents that are missing. If a create is not answered, it looks for the node
// by its GUID before it makes another. If create fails, there is no node, or it is being removed.
func (s *Session) create(ctx context.Context, l line) (*node, error) {
	n := &node{line: l, s: s, guid: newGUID()}
	if _, err := s.nodes.deleteAgain(ctx, l.dir); err != nil {
		return nil, err
	}
	if err := conn.Retry(ctx, func() error { return n.createOnce(ctx) }); err != nil {
		if n.doubtful {
			n.remove()
		}
		return nil, fmt.Errorf("create node in %s: %w", l.dir, err)
	}
	return n, nil
}

func (n *node) createOnce(ctx context.Context) error {
	if _, err := n.s.conn.Ready(ctx); err != nil {
		return err
	}
	if n.doubtful {
		found, err := n.find(ctx)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			n.adopt(conn.Created{Path: found[0]}) // if it is not the only one, look finds the others
			return nil
		}
	}
	// A goroutine of the background makes the request itself, and learns of ctx's end after the answer. Any other
	// returns when ctx ends, and leaves the answer to createdLate.
	prefix := n.dir + "/" + protection(n.guid) + n.line.own
	alone, late := n.follows, n.createdLate
	if n.watchParent || n.doubtful { // look lists the queue
		alone = nil
	}
	if n.behind != nil {
		late = nil
	}
	created, err := n.s.conn.CreateInLine(ctx, prefix, n.opts.data, n.opts.acl, alone, late)
	switch {
	case late == nil && ctx.Err() != nil:
		n.createdLate(created, err)
		return context.Cause(ctx)
	case err == nil:
		n.adopt(created)
	case conn.Unanswered(err): // and not if ctx has ended: then createdLate reads n
		n.doubtful = true
	}
	return err
}

// follows reports whether nobody can be before a new node of ours, so that it need not list the queue: one request less
// of three for a contender that is alone. ZooKeeper numbers the children of dir in the order of their creation. So if
// our last node there, nodes.last, was the only child, and is deleted, and this one has the next number, nobody came
// between.
//
// That holds while dir is the same node with the same past. It may have been removed and made again: then it counts
// from 0, with a transaction for each contender, so that more transactions have passed than the number says. Or the
// servers may have been set back to an older state: for that they close the connection, and Created.Over differs.
func (n *node) follows(created conn.Created) bool {
	n.s.nodes.mu.Lock()
	last := n.s.nodes.last[n.dir]
	n.s.nodes.mu.Unlock()
	before, _ := parseName(last.name(), last.own)
	m, ok := parseName(path.Base(created.Path), n.own)
	return ok && m.number == before.number+1 && m.number <= lastNumber &&
		last.over != nil && last.over == created.Over && created.Czxid-last.czxid <= int64(m.number)
}

// createdLate takes the outcome of a create whose caller has gone. A request that was sent cannot be taken back: its
// node may come into being later, and all behind it would wait for a contender that has left. So each outcome ends
// here:
//   - The node is there: it is deleted directly, as the Session may be closed by now, and remove refuses to begin then.
//   - Nobody knows whether it is there: remove searches for it by its GUID.
//   - It was refused: there is nothing.
//
// It works on a copy: n is the caller's, who has returned.
func (n *node) createdLate(created conn.Created, err error) {
	late := *n
	switch {
	case err == nil:
		late.path = created.Path
		if gone(n.s.nodes.deleteNow(created.Path)) {
			return
		}
	case conn.Unanswered(err):
		late.doubtful = true
	default:
		return
	}
	late.remove()
}

// adopt makes created this node.
func (n *node) adopt(created conn.Created) {
	n.path, n.czxid, n.clock, n.over = created.Path, created.Czxid, created.Session, created.Over
	n.names = created.Names
	n.s.nodes.add(n.path)
}

// find returns the paths of the nodes that have our GUID. It begins with a sync: a create that went through another
// server may be proposed and not yet committed, and a node found too late would stand ahead of its contender for ever.
func (n *node) find(ctx context.Context) ([]string, error) {
	names, err := conn.Do(ctx, n.s.conn, func() ([]string, error) {
		if _, err := n.s.conn.ZK.Sync(n.dir); err != nil {
			return nil, err
		}
		names, _, err := n.s.conn.ZK.Children(n.dir)
		return names, err
	})
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, err
	}
	var found []string
	for _, name := range names {
		if strings.HasPrefix(name, protection(n.guid)) {
			found = append(found, n.dir+"/"+name)
		}
	}
	return found, nil
}

// look reads the queue and returns the name of the node's predecessor, "" if it has none. If waiters watch
// the parent, changed receives the next change of the queue. look fails with errVanished if the node is not
// there or is not of the session of life.
func (n *node) look(ctx context.Context, life *conn.Lifetime) (
	predecessor string, changed <-chan struct{}, err error,
) {
	names := n.names
	n.names = nil
	switch {
	case n.watchParent:
		listing := n.s.conn.List(n.dir)
		if err = listing.Wait(ctx); err == nil {
			names, changed = listing.Names, listing.Changed
		}
	case names == nil:
		names, err = n.s.conn.Children(ctx, n.dir)
	}
	owner, ownErr := n.owner(ctx)
	if err == nil {
		err = ownErr
	}
	if errors.Is(err, zk.ErrNoNode) || err == nil && owner != life.ID {
		return "", nil, n.vanished()
	}
	if err != nil {
		return "", nil, err
	}
	members, err := ordered(names, n.kinds...)
	if err != nil {
		return "", nil, err
	}
	if n.doubtful && n.unite(members) { // it has another owner, perhaps
		return n.look(ctx, life)
	}
	at := slices.IndexFunc(members, func(m member) bool { return m.name == n.name() })
	if at < 0 {
		return "", nil, n.vanished()
	}
	n.followers, n.alone = len(members)-1-at, len(names) == 1
	return n.before(members, at), changed, nil
}

func (n *node) vanished() error { return fmt.Errorf("%s: %w", n.path, errVanished) }

// owner returns the session that the node is of. It is known from the answer to the create. If no answer
// came, the request that sets the watch on the node returns it.
func (n *node) owner(ctx context.Context) (int64, error) {
	if n.clock != nil {
		return n.clock.ID, nil
	}
	stat, err := n.s.conn.Watch(n.path).Armed(ctx)
	n.czxid = stat.Czxid
	return stat.EphemeralOwner, err
}

// unite makes the earliest member that has our GUID this node, and removes the others: a later one
// would wait for an earlier one for ever. It reports whether the path has changed.
func (n *node) unite(members []member) (moved bool) {
	before, first := n.path, true
	for _, m := range members {
		twin := n.dir + "/" + m.name
		switch {
		case !strings.HasPrefix(m.name, protection(n.guid)):
		case first:
			first = false
			if twin != n.path {
				n.adopt(conn.Created{Path: twin})
			}
		default:
			(&node{line: n.line, s: n.s, path: twin}).remove()
		}
	}
	return n.path != before
}
