package zklock

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/conn"
)

// watchDelay bounds the time from a grant to the watch on the node. Half of it passes at least: most holders are
// quicker, and need no watch.
const watchDelay = 100 * time.Millisecond

// holder is a queue node that has the lock: it came first, is known to be of the current session, and is watched.
type holder struct {
	*node
	life   *conn.Lifetime
	ctx    context.Context // ends when the lock is lost or released
	cancel context.CancelCauseFunc
	keep   func() bool // undoes the removal of the node at the end of life
	since  conn.Instant

	// removal begins the removal of the node, once. The outcome is for one caller only.
	removal func() <-chan error

	mu    sync.Mutex
	queue *conn.Listing // the latest, for all that wait for a rival; nil before the first, guarded by mu
}

// watchLater has keepWatch called within watchDelay if h holds for as long. One timer serves all holders of the
// Session.
func (s *Session) watchLater(h *holder) {
	s.watching.Lock()
	defer s.watching.Unlock()
	if s.unwatched = append(s.unwatched, h); len(s.unwatched) == 1 {
		time.AfterFunc(watchDelay/2, s.watchHolders)
	}
}

func (s *Session) watchHolders() {
	s.watching.Lock()
	defer s.watching.Unlock()
	recent := conn.Now() - conn.Instant(watchDelay/2)
	for len(s.unwatched) > 0 && s.unwatched[0].since <= recent {
		if h := s.unwatched[0]; h.ctx.Err() == nil {
			s.conn.Go(h.keepWatch)
		}
		s.unwatched = s.unwatched[1:]
	}
	s.unwatched = append([]*holder(nil), s.unwatched...) // the former array is free
	if len(s.unwatched) > 0 {
		time.AfterFunc(watchDelay/2, s.watchHolders)
	}
}

// keepWatch watches the node until it is deleted or the holder ends. Of an event for something else, for example a
// change of the node's data, it watches again.
func (h *holder) keepWatch() {
	for pause := (conn.Pause{}); h.ctx.Err() == nil; {
		own := h.s.conn.Watch(h.path)
		_, err := own.Armed(h.ctx)
		switch {
		case err == nil:
			if conn.Wait(h.ctx, own.Fired()) == nil && own.Deleted() {
				h.end(ErrDeleted)
			}
		case errors.Is(err, zk.ErrNoNode):
			h.end(ErrDeleted)
		default:
			_ = pause.Wait(h.ctx) // the loop checks whether h.ctx has ended
		}
	}
}

// end ends the holder's context, unless it has ended, and leaves the node to the caller.
func (h *holder) end(cause error) {
	h.keep()
	h.cancel(cause)
}

// lost returns why the lock is not held any more, by all that can be known without asking the server, or nil.
// After a pause of the process, no event has come for it yet: only the clock shows it.
func (h *holder) lost() error {
	if h.ctx.Err() != nil {
		return context.Cause(h.ctx)
	}
	if h.life.Left() <= 0 {
		return ErrSilence
	}
	return nil
}

// awaitRival waits until another contender has to wait in the queue, or ctx ends.
func (h *holder) awaitRival(ctx context.Context) error {
	for pause := (conn.Pause{}); ; {
		queue := h.listing()
		err := queue.Wait(ctx)
		switch {
		case err != nil:
			err = pause.Wait(ctx)
		case h.delays(queue.Names):
			return nil
		default:
			err = conn.Wait(ctx, queue.Changed)
		}
		if err != nil {
			return err
		}
	}
}

// listing returns the list of the queue, which all callers share until the queue changes.
func (h *holder) listing() *conn.Listing {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.queue == nil || h.queue.Outdated() {
		h.queue = h.s.conn.List(h.dir)
	}
	return h.queue
}

// delays reports whether one of the queue's nodes has to wait. All that do so wait for this holder among others.
func (h *holder) delays(names []string) bool {
	members, err := ordered(names, h.kinds...)
	for at := range members {
		if h.before(members, at) != "" {
			return true
		}
	}
	return err != nil // others have come, and do not count any more
}

// release gives the lock up and waits for the delete until ctx ends, the lifetime of the session, or the Session. The
// delete is sent even if ctx has ended, and again for as long as it takes. If the lock is lost, release does not wait.
func (h *holder) release(ctx context.Context) error {
	lost := h.lost()
	h.end(ErrReleased)
	removed := h.removal()
	if lost != nil {
		return lost
	}
	life := h.life.Context()
	select {
	case err := <-removed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-life.Done(): // also at the end of the Session
		err := cmp.Or(context.Cause(h.s.conn.Context()), context.Cause(life))
		if errors.Is(err, ErrSilence) { // the lock was given up before
			err = ErrNoAnswer
		}
		return err
	}
}

// drop gives the lock up without waiting for it.
func (h *holder) drop() {
	h.end(ErrReleased)
	h.removal()
}

// lock makes the handle of a holder that has the lock for itself.
func (h *holder) lock(ctx context.Context, path string) *Lock {
	return newLock(ctx, path, Token{Czxid: h.czxid}, h, h.opts.hooks, h.release)
}
