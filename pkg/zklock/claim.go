package zklock

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// claim is a node that has the lock: it came first, is known to be of the current session, and is
// watched.
type claim struct {
	*node
	term    *term
	czxid   int64
	ctx     context.Context //nolint:containedctx // ends when the claim is lost or released
	cancel  context.CancelCauseFunc
	unguard func() bool
	// rivals is how many others were in the queue behind it when it came first, as far as is known.
	rivals int
}

// claim makes the node one that holds the lock, unless the session may be over by now.
func (n *node) claim(t *term, own *watch, rivals int) (*claim, error) {
	if !t.alive() {
		return nil, fmt.Errorf("%s: %w", n.path, errVanished)
	}
	c := &claim{node: n, term: t, czxid: own.stat.Czxid, rivals: rivals}
	c.ctx, c.cancel = context.WithCancelCause(t.ctx)
	// Where the term ends, the session may come back with the node after all.
	c.unguard = context.AfterFunc(t.ctx, c.discard)
	n.s.whenFired(own, c.changed)
	return c, nil
}

// guard watches the claim's node again, to end the claim when somebody else deletes it.
func (c *claim) guard() {
	for pause := (retryPause{}); c.ctx.Err() == nil; {
		own := c.s.watch(c.path)
		err := own.wait(c.ctx, c.s)
		switch {
		case err == nil:
			c.s.whenFired(own, c.changed)
			return
		case errors.Is(err, zk.ErrNoNode):
			c.deleted()
		default:
			_ = pause.wait(c.ctx, c.s) // the loop's condition tells its end
		}
	}
}

// changed takes what the watch on the claim's node has told of. What is not its deletion, such as a
// change of the data, has used the watch up.
func (c *claim) changed(own *watch) {
	if own.event.Type == zk.EventNodeDeleted {
		c.deleted()
		return
	}
	c.guard()
}

// deleted ends the claim's context, unless it has ended by our own release.
func (c *claim) deleted() {
	c.unguard()
	c.cancel(fmt.Errorf("%w: %w", ErrLost, errNodeDeleted))
}

// end ends the claim's context, unless it has ended, and leaves the node to the caller.
func (c *claim) end() {
	c.unguard()
	c.cancel(ErrReleased)
}

// alive says that the claim is good, by all that can be known without asking the server.
func (c *claim) alive() bool { return c.ctx.Err() == nil && c.term.lease.left() > 0 }

// release gives the lock up. The delete is sent whatever the state of ctx, which bounds only the
// wait for its answer; and it is sent again for as long as it takes, in the background. If the claim
// is lost, nobody waits for that.
func (c *claim) release(ctx context.Context) error {
	if lost := context.Cause(c.ctx); lost != nil {
		c.drop()
		return lost
	}
	c.end()
	err := c.s.deleteNode(ctx, c.path, func(err error) {
		if passing(err) || c.doubtful {
			c.s.sweep(c.orphan())
		}
	})
	switch {
	case ctx.Err() != nil, errors.Is(err, ErrSessionClosed):
		return err
	case errors.Is(err, zk.ErrNoNode):
		return fmt.Errorf("%w: %w", ErrLost, errNodeDeleted)
	case !passing(err) && !c.doubtful:
		return err
	}
	o := c.orphan()
	c.s.sweep(o)
	select {
	case <-o.gone:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.s.ctx.Done():
		return ErrSessionClosed
	}
}

// drop gives the claim up without waiting for it.
func (c *claim) drop() {
	c.end()
	c.discard()
}
