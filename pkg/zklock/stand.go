package zklock

import (
	"context"
	"errors"
	"fmt"

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
	try   bool // do not wait
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
	n, err := s.createNode(ctx, l.dir, l.kind, o)
	if err != nil {
		return nil, err
	}
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
		if (passing(err) || errors.Is(err, errMoved)) && pause.wait(ctx, n.s) == nil {
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
	if _, err := s.unstick(ctx, l.dir); err != nil {
		return err
	}
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

// await waits for the node's turn. The watch on the node gives three things by one request: the
// token, whether the node is this session's, and the news of its deletion.
func (n *node) await(ctx context.Context, t *term, l line) (*claim, error) {
	for {
		own := n.s.watch(n.path)
		names, err := n.s.children(ctx, l.dir)
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
		refused, err := n.s.unstick(ctx, l.dir)
		if err != nil {
			return nil, err
		}
		if err := n.awaitEnd(ctx, t, own, n.s.watch(l.dir+"/"+ahead.Name), ahead.Czxid, refused); err != nil {
			return nil, err
		}
	}
}

// look makes a queue of the children read, and finds the node in it. It fails with errVanished if
// the node is not there, or is not of the term's session: then another takes the lock. It fails with
// errMoved if there is an earlier node of ours, which is the node now: look again.
func (n *node) look(ctx context.Context, t *term, own *watch, l line, names []string, err error) ([]member, int, error) {
	if werr := own.wait(ctx, n.s); err == nil {
		err = werr
	}
	if errors.Is(err, zk.ErrNoNode) || err == nil && own.stat.EphemeralOwner != t.lease.id {
		return nil, 0, fmt.Errorf("%s: %w", n.path, errVanished)
	}
	if err != nil {
		return nil, 0, err
	}
	queue, err := n.s.queue(ctx, l.dir, names, l.kinds...)
	if err != nil {
		return nil, 0, err
	}
	if n.doubtful && n.unite(queue) {
		return nil, 0, errMoved
	}
	at := place(queue, n.name())
	if at < 0 {
		return nil, 0, fmt.Errorf("%s: %w", n.path, errVanished)
	}
	return queue, at, nil
}

// awaitEnd waits until the node ahead is gone, or something else is reason to look again. czxid is
// the node's ahead, or 0 if no other node can have its name. refused is from unstick.
func (n *node) awaitEnd(ctx context.Context, t *term, own, ahead *watch, czxid int64, refused <-chan struct{}) error {
	err := ahead.wait(ctx, n.s)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err == nil && czxid != 0 && ahead.stat.Czxid != czxid {
		return nil // its name was used again: that one is behind us
	}
	if err != nil {
		return err
	}
	select {
	case <-ahead.fired:
		n.hooks.woken(n.dir)
		return nil
	case <-own.fired:
		return nil
	case <-refused:
		return nil
	case <-t.ctx.Done():
		return fmt.Errorf("%w: %w", errVanished, context.Cause(t.ctx))
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-n.s.ctx.Done():
		return ErrSessionClosed
	}
}
