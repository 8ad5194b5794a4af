package zklock

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/conn"
	"orderstock/pkg/zklock/internal/queue"
)

// acquire queues in ZooKeeper and waits until it is our turn. With try, it returns ErrNotAcquired
// instead of waiting. If the session is lost during the wait, or somebody removes our node, it queues
// again. If it fails, no node is left, or the node is being removed.
func (s *Session) acquire(ctx context.Context, l queue.Line, o options, try bool) (h *holder, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	ctx, stop := conn.Until(ctx, s.conn.Context())
	defer stop()
	for _, name := range l.Kinds {
		if name == "" || strings.Contains(name, "/") {
			return nil, fmt.Errorf("lock name %q is empty or holds a slash: give WithNames another", name)
		}
	}
	err = s.queueAgain(ctx, func(life *conn.Lifetime) error {
		if try {
			if err := s.checkFree(ctx, l); err != nil {
				return err
			}
		}
		h, err = s.queueUp(ctx, life, l, o, try)
		return err
	})
	return h, err
}

// queueAgain calls attempt until it succeeds, or fails for another reason than the connection or the
// loss of the session or of the queue node. Each attempt gets the current session.
func (s *Session) queueAgain(ctx context.Context, attempt func(*conn.Lifetime) error) error {
	for pause := (conn.Pause{}); ; {
		life, err := s.conn.Ready(ctx)
		if err == nil {
			err = attempt(life)
		}
		if !conn.Temporary(err) && !errors.Is(err, queue.ErrVanished) {
			return err
		}
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}

// checkFree returns ErrNotAcquired if a contender that came now would have to wait. It writes nothing.
func (s *Session) checkFree(ctx context.Context, l queue.Line) error {
	if _, err := s.nodes.Unstick(ctx, l.Dir); err != nil {
		return err
	}
	names, err := s.conn.Children(ctx, l.Dir)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	// The order of the others does not matter: the last one waits for one of them or for none.
	members := append(queue.Members(names, l.Kinds...), queue.Member{Kind: l.Own})
	if l.Rule(members, len(members)-1) != nil {
		return ErrNotAcquired
	}
	return nil
}

// queueUp makes a queue node and waits for its turn for as long as the session is alive: the place in
// the queue lasts that long, over reconnects. If it fails, the node is being removed.
func (s *Session) queueUp(
	ctx context.Context, life *conn.Lifetime, l queue.Line, o options, try bool,
) (*holder, error) {
	node, err := s.nodes.Create(ctx, l, o.node)
	if err != nil {
		return nil, err
	}
	for pause := (conn.Pause{}); ; {
		h, err := s.awaitTurn(ctx, node, life, l, o, try)
		if err == nil {
			return h, nil
		}
		if (conn.Temporary(err) || errors.Is(err, queue.ErrMoved)) && pause.Wait(ctx) == nil {
			if current, err := s.conn.Ready(ctx); err == nil && current == life {
				continue
			}
		}
		node.Remove()
		return nil, err
	}
}

// awaitTurn waits until the node has no predecessor. It looks at the queue again when the predecessor
// is gone, which may have been a waiter that gave up.
func (s *Session) awaitTurn(
	ctx context.Context, node *queue.Node, life *conn.Lifetime, l queue.Line, o options, try bool,
) (*holder, error) {
	for {
		place, changed, err := node.Look(ctx, life, l)
		if err != nil {
			return nil, err
		}
		predecessor := l.Rule(place.Members, place.At)
		if predecessor == nil {
			return s.hold(life, place, o)
		}
		if try {
			return nil, ErrNotAcquired
		}
		refused, err := s.nodes.Unstick(ctx, l.Dir)
		if err != nil {
			return nil, err
		}
		var gone <-chan struct{}
		var watch *conn.Watch
		if !l.Crowd {
			watch = s.conn.Watch(l.Dir + "/" + predecessor.Name)
			watch.List()
			switch _, err := watch.Armed(ctx); {
			case errors.Is(err, zk.ErrNoNode):
				continue
			case err != nil:
				return nil, err
			}
			gone = watch.Listed()
		}
		select {
		case <-gone:
			o.woken(l.Dir)
			node.Listed(watch.Siblings())
		case <-changed:
			o.woken(l.Dir)
		case <-place.Own.Fired():
		case <-refused:
		case <-life.Context().Done():
			return nil, fmt.Errorf("%w: %w", queue.ErrVanished, context.Cause(life.Context()))
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// hold makes the node at place a holder of the lock. It fails with queue.ErrVanished if the session may
// be over by now.
func (s *Session) hold(life *conn.Lifetime, place queue.Place, o options) (*holder, error) {
	if !life.Alive() {
		return nil, fmt.Errorf("%s: %w", place.Node.Path, queue.ErrVanished)
	}
	h := &holder{
		Node: place.Node, s: s, life: life, czxid: place.Czxid, hooks: o.hooks,
		behind: len(place.Members) - 1 - place.At,
	}
	h.ctx, h.cancel = context.WithCancelCause(life.Context())
	// The session may come back, with the node, after its lifetime has ended by the local clock.
	life.Keep(h)
	place.Own.Soon()
	h.ignore = place.Own.AfterFired(func() { h.changed(place.Own) })
	return h, nil
}
