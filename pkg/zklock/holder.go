package zklock

import (
	"context"
	"errors"
	"sync"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/conn"
	"orderstock/pkg/zklock/internal/queue"
)

// holder is a queue node that has the lock: it came first, is known to be of the current session, and
// is watched.
type holder struct {
	*queue.Node
	s      *Session
	life   *conn.Lifetime
	czxid  int64
	hooks  Hooks
	ctx    context.Context // ends when the lock is lost or released
	cancel context.CancelCauseFunc
	ignore func() bool // the event of the watch on the node, while its first watch is the one
	behind int         // how many others were in the queue when the node came first, as far as is known

	removal sync.Once
	removed <-chan error
}

// Remove begins the removal of the node, once. The outcome is for one caller only.
func (h *holder) Remove() <-chan error {
	h.removal.Do(func() { h.removed = h.Node.Remove() })
	return h.removed
}

// changed handles an event of the watch on the holder's node. If the node was not deleted, but for
// example its data was changed, it watches again.
func (h *holder) changed(own *conn.Watch) {
	for pause := (conn.Pause{}); h.ctx.Err() == nil; {
		if own.Deleted() {
			h.deleted()
			return
		}
		own = h.s.conn.Watch(h.Path)
		_, err := own.Armed(h.ctx)
		switch {
		case err == nil:
			own.AfterFired(func() { h.changed(own) })
			return
		case errors.Is(err, zk.ErrNoNode):
			h.deleted()
		default:
			_ = pause.Wait(h.ctx) // the loop checks whether h.ctx has ended
		}
	}
}

// deleted ends the holder's context, unless our own release has ended it.
func (h *holder) deleted() {
	h.life.Forget(h)
	h.cancel(errNodeDeleted)
}

// end ends the holder's context, unless it has ended, and leaves the node to the caller.
func (h *holder) end() {
	h.life.Forget(h)
	h.ignore()
	h.cancel(ErrReleased)
}

// alive reports whether the lock is held, by all that can be known without asking the server.
func (h *holder) alive() bool { return h.ctx.Err() == nil && h.life.Left() > 0 }

// release gives the lock up and waits for the delete until ctx ends. The delete is sent even if
// ctx has ended, and again for as long as it takes. If the lock is lost, release does not wait.
func (h *holder) release(ctx context.Context) error {
	lost := context.Cause(h.ctx)
	h.end()
	removed := h.Remove()
	if lost != nil {
		return lost
	}
	return h.awaitRemoval(ctx, removed)
}

// awaitRemoval waits for the outcome of Remove until ctx ends or the session is closed.
func (h *holder) awaitRemoval(ctx context.Context, removed <-chan error) error {
	session := h.s.conn.Context()
	select {
	case err := <-removed:
		if errors.Is(err, zk.ErrNoNode) {
			return errNodeDeleted
		}
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-session.Done():
		return context.Cause(session)
	}
}

// drop gives the lock up without waiting for it.
func (h *holder) drop() {
	h.end()
	h.Remove()
}

// lock makes the handle of a holder that has the lock for itself.
func (h *holder) lock(ctx context.Context, path string) *Lock {
	lock := newLock(ctx, h.ctx, path, Token{Czxid: h.czxid}, h.hooks)
	lock.holders, lock.giveUp = []*holder{h}, h.release
	return lock
}
