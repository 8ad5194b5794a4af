package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
)

// rule says for which member the one at the given place has to wait: nil where it holds the lock.
// A waiter looks at the queue again, by the rule, each time that one is gone: it may have
// been a waiter that gave up.
type rule func(queue []member, at int) *member

// inTurn is the rule of a mutex: first come, first served, and each waits for the one before.
func inTurn(queue []member, at int) *member {
	if at == 0 {
		return nil
	}
	return &queue[at-1]
}

// line is a queue in ZooKeeper and how to stand in it.
type line struct {
	dir   string
	kind  kind   // of our own node
	kinds []kind // of all that stand in it
	rule  rule
	// exclusive says that the rule lets only the first of all hold the lock.
	exclusive bool
	try       bool // do not wait
}

// stand queues in l until it is our turn. Where the session is lost meanwhile, or somebody
// removes our node, it queues again. When it returns an error, no node is left, or it is being
// removed.
func (s *Session) stand(ctx context.Context, l line, o options) (*claim, error) {
	return s.insist(ctx, func() (*claim, error) { return s.standOnce(ctx, l, o) })
}

// insist tries again where the connection or the session was in the way.
func (s *Session) insist(ctx context.Context, once func() (*claim, error)) (*claim, error) {
	var pause retryPause
	for {
		c, err := once()
		if err == nil || ctx.Err() != nil || !passing(err) && !errors.Is(err, errVanished) {
			return c, err
		}
		if err := pause.wait(ctx, s); err != nil {
			return nil, err
		}
	}
}

func (s *Session) standOnce(ctx context.Context, l line, o options) (*claim, error) {
	t, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	if l.try {
		if err := s.mightGet(ctx, l); err != nil {
			return nil, err
		}
	}
	last, left := s.lastLeft(l)
	n, err := s.createNode(ctx, l.dir, l.kind, o, !left)
	if err != nil {
		return nil, err
	}
	n.exclusive, n.sole = l.exclusive, left && n.follows(last)
	return n.stay(ctx, t, func() (*claim, error) { return n.await(ctx, t, l) })
}

// stay awaits the node's turn for as long as the session lasts, as with it lasts the place in the
// queue. When it returns an error, the node is being removed.
func (n *node) stay(ctx context.Context, t *term, await func() (*claim, error)) (*claim, error) {
	var pause retryPause
	for {
		c, err := await()
		if err == nil {
			return c, nil
		}
		if passing(err) && pause.wait(ctx, n.s) == nil {
			if now, err := n.s.ready(ctx); err == nil && now == t {
				continue
			}
		}
		n.discard()
		return nil, err
	}
}

// mightGet asks, before anything is written, whether one who came now would have to wait.
func (s *Session) mightGet(ctx context.Context, l line) error {
	names, err := s.children(ctx, l.dir)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	queue := append(members(names, l.kinds...), member{Kind: l.kind}) // in any order: the last one waits for none or for one
	if l.rule(queue, len(queue)-1) != nil {
		return ErrNotAcquired
	}
	return nil
}

// await waits for the node's turn. Where somebody deletes the node meanwhile, it finds out when it
// looks again, which is when the one ahead is gone, or by the watch that the next in turn has on it.
func (n *node) await(ctx context.Context, t *term, l line) (*claim, error) {
	if n.sole && n.lease == t.lease {
		n.sole = false // for another time there is a look
		return n.claim(t, nil, 0)
	}
	for {
		own, names, err := n.sight(ctx, l)
		queue, at, err := n.look(ctx, t, own, l, names, err)
		if err != nil {
			return nil, err
		}
		ahead := l.rule(queue, at)
		if ahead == nil {
			return n.claim(t, own, len(queue)-1-at)
		}
		if l.try {
			return nil, ErrNotAcquired
		}
		next := at == 1 && l.exclusive && ahead.Czxid == 0 // at the end of the counter, look
		if next && own == nil {
			own = n.s.watch(n.path)
		}
		gone, err := n.awaitEnd(ctx, t, own, n.s.watch(l.dir+"/"+ahead.Name), ahead.Czxid)
		if err != nil {
			return nil, err
		}
		if next && gone && own.stands() {
			// Nobody was before the one ahead, who comes now comes behind us, and the watch says that our
			// own node is there: a look would tell only who waits, and somebody mostly does.
			return n.claim(t, own, max(1, len(queue)-2))
		}
	}
}

// sight returns who stands in the queue, and the watch on the node where the wire told nothing of
// it: one request gives the token, whether the node is this session's, and the news of its
// deletion. It goes out beside the look at the queue.
func (n *node) sight(ctx context.Context, l line) (own *watch, names []string, err error) {
	if n.lease == nil {
		own = n.s.watch(n.path)
	}
	if early := n.early; early != nil {
		n.early = nil
		select {
		case first := <-early:
			if first.err == nil && slices.Contains(first.names, n.name()) {
				return own, first.names, nil
			}
		case <-ctx.Done():
			return own, nil, context.Cause(ctx)
		case <-n.s.ctx.Done():
			return own, nil, ErrSessionClosed
		}
	}
	names, err = n.s.children(ctx, l.dir)
	return own, names, err
}

// look makes a queue of the children read, and finds the node in it. It fails with errVanished where
// the node is not there, or is not of the term's session: then another takes the lock.
func (n *node) look(ctx context.Context, t *term, own *watch, l line, names []string, err error) ([]member, int, error) {
	session := n.lease == t.lease
	if own != nil {
		if werr := own.wait(ctx, n.s); err == nil {
			err = werr
		}
		session = err == nil && own.stat.EphemeralOwner == t.lease.id
	}
	if errors.Is(err, zk.ErrNoNode) || err == nil && !session {
		return nil, 0, fmt.Errorf("%s: %w", n.path, errVanished)
	}
	if err != nil {
		return nil, 0, err
	}
	queue, err := n.s.queue(ctx, l.dir, names, l.kinds...)
	if err != nil {
		return nil, 0, err
	}
	at := place(queue, n.name())
	if at < 0 {
		return nil, 0, fmt.Errorf("%s: %w", n.path, errVanished)
	}
	return queue, at, nil
}

// awaitEnd waits until the node ahead is gone, or something else is reason to look again. When it
// says that the node is gone, the watch on our own, where there is one, is set. czxid is the node's
// ahead, or 0 where no other node can have its name.
func (n *node) awaitEnd(ctx context.Context, t *term, own, ahead *watch, czxid int64) (gone bool, err error) {
	err = ahead.wait(ctx, n.s)
	if err == nil && czxid != 0 && ahead.stat.Czxid != czxid {
		return false, nil // its name was used again: that one is behind us
	}
	gone = errors.Is(err, zk.ErrNoNode)
	if err != nil && !gone {
		return false, err
	}
	var changed <-chan struct{}
	if own != nil {
		if set := own.wait(ctx, n.s) == nil; !set {
			return false, nil // the look tells why
		}
		changed = own.fired
	}
	if gone {
		return true, nil
	}
	select {
	case <-ahead.fired:
		n.hooks.woken(n.dir)
		return ahead.event.Type == zk.EventNodeDeleted, nil
	case <-changed:
		return false, nil
	case <-t.ctx.Done():
		return false, fmt.Errorf("%w: %w", errVanished, context.Cause(t.ctx))
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-n.s.ctx.Done():
		return false, ErrSessionClosed
	}
}
