package zklock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/conn"
)

// README.md shows the steps of an acquisition, of a hand-off and of a release.

// acquire queues in ZooKeeper and waits until it is our turn. With try, it returns ErrNotAcquired instead of waiting.
// If it fails, no node is left, or the node is being removed. It fails with ErrNotAcquired and the cause of ctx's end
// if ctx ends while another is before us, and with the cause alone if it ends while ZooKeeper has not answered.
func (s *Session) acquire(ctx context.Context, l line, try bool) (*holder, error) {
	ctx, stop := conn.Until(ctx, s.conn.Context())
	defer stop()
	return s.queue(ctx, l, try)
}

// queue is acquire with a context that ends with the Session.
func (s *Session) queue(ctx context.Context, l line, try bool) (h *holder, err error) {
	if l.opts.invalid != nil {
		return nil, l.opts.invalid
	}
	err = s.queueAgain(ctx, func(life *conn.Lifetime) error {
		if try {
			if err := s.checkFree(ctx, l); err != nil {
				return err
			}
		}
		h, err = s.queueUp(ctx, life, l, try)
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
		if !conn.Temporary(err) && !errors.Is(err, errVanished) {
			return err
		}
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}

// checkFree returns ErrNotAcquired if a contender that came now would have to wait. It writes nothing.
func (s *Session) checkFree(ctx context.Context, l line) error {
	if _, err := s.nodes.deleteAgain(ctx, l.dir); err != nil {
		return err
	}
	names, err := s.conn.Children(ctx, l.dir)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	// The order of the others does not matter: the last one waits for one of them or for none.
	members := append(membersOf(names, l.kinds...), member{kind: l.own})
	if l.before(members, len(members)-1) != "" {
		return ErrNotAcquired
	}
	return nil
}

// queueUp makes a queue node and waits for its turn for as long as the session is alive: the place in
// the queue lasts that long, over reconnects. If it fails, the node is being removed.
func (s *Session) queueUp(ctx context.Context, life *conn.Lifetime, l line, try bool) (*holder, error) {
	n, err := s.create(ctx, l)
	if err != nil {
		return nil, err
	}
	for pause := (conn.Pause{}); ; {
		h, err := n.awaitTurn(ctx, life, try)
		if err == nil {
			return h, nil
		}
		if conn.Temporary(err) && pause.Wait(ctx) == nil {
			if current, err := s.conn.Ready(ctx); err == nil && current == life {
				continue
			}
		}
		n.remove()
		return nil, err
	}
}

// awaitTurn waits until the node has no predecessor. It looks at the queue again when the predecessor
// is gone, which may have been a waiter that gave up.
func (n *node) awaitTurn(ctx context.Context, life *conn.Lifetime, try bool) (*holder, error) {
	for {
		predecessor, changed, err := n.look(ctx, life)
		switch {
		case err != nil:
			return nil, err
		case predecessor == "":
			return n.hold(life)
		case try:
			return nil, ErrNotAcquired
		}
		refused, err := n.s.nodes.deleteAgain(ctx, n.dir)
		if err != nil {
			return nil, err
		}
		var gone <-chan struct{}
		var watch *conn.Watch
		if !n.watchParent {
			watch = n.s.conn.Watch(n.dir + "/" + predecessor)
			watch.List()
			if _, err := watch.Armed(ctx); errors.Is(err, zk.ErrNoNode) {
				continue
			} else if err != nil {
				return nil, err
			}
			gone = watch.Listed()
		}
		own := n.s.conn.Watch(n.path)
		if n.behind != nil {
			n.behind.Store(true)
		}
		select {
		case <-gone:
			n.opts.woken(n.dir)
			n.names = watch.Siblings()
		case <-changed:
			n.opts.woken(n.dir)
		case <-own.Fired():
		case <-refused:
		case <-life.Context().Done():
			err = fmt.Errorf("%w: %w", errVanished, context.Cause(life.Context()))
		case <-ctx.Done():
			if err = context.Cause(ctx); n.s.conn.Up() {
				err = notAcquired(ctx)
			}
		}
		if n.behind != nil {
			n.behind.Store(false)
		}
		if err != nil {
			return nil, err
		}
	}
}

// hold makes the node a holder of the lock. It fails with errVanished if the session may be over by now.
func (n *node) hold(life *conn.Lifetime) (*holder, error) {
	if !life.Alive() {
		return nil, n.vanished()
	}
	h := &holder{node: n, life: life, since: conn.Now(), removal: sync.OnceValue(n.remove)}
	h.ctx, h.cancel = context.WithCancelCause(life.Context())
	// The session may come back, with the node, after its lifetime has ended by the local clock.
	h.keep = life.AfterEnd(func() { h.removal() })
	n.s.watchLater(h)
	return h, nil
}
