package zklock

import (
	"container/list"
	"context"
	"sync/atomic"

	"orderstock/pkg/zklock/internal/conn"
)

// localQueue is the queue within the process for one path of a Session. The process makes one node in
// ZooKeeper's queue for all waiters here, and hands the lock on among them without ZooKeeper: lock
// cohorting (Dice, Marathe, Shavit, "Lock Cohorting", PPoPP 2012).
//
// It exists while somebody here waits for the lock or holds it. A turn is the time from the end of the
// wait in ZooKeeper's queue to the removal of the node. The Session's mutex guards it.
type localQueue struct {
	s    *Session
	path string
	opts *options

	waiting  list.List   // of *waiter, first come first
	withdraw func()      // leaves ZooKeeper's queue, for use while holder is nil
	behind   atomic.Bool // another there

	holder   *holder // nil outside of a turn
	grants   uint64  // in this turn
	watching bool    // for the turn's end by a loss, and for rivals

	rival bool         // another process waits: from then on the turn is bounded
	left  int          // grants, while there is a rival
	until conn.Instant // while there is a rival
}

// waiter is one acquisition that waits. It is in the list until it is granted or fails.
type waiter struct {
	element *list.Element // nil when it has left the list
	ready   chan struct{} // closed when the others are valid
	holder  *holder
	token   Token
	err     error
}

// acquireLocally acquires the lock through the process's queue.
func (m *Mutex) acquireLocally(ctx context.Context) (*Lock, error) {
	q, w := m.join()
	select {
	case <-w.ready:
	case <-ctx.Done():
		return nil, q.leave(ctx, w)
	}
	if w.err != nil {
		return nil, w.err
	}
	if m.opts.hooks.HandedOver != nil {
		m.opts.hooks.HandedOver(m.path, w.token.Local > 1)
	}
	release := func(ctx context.Context) error { return q.release(ctx, w.holder) }
	return newLock(ctx, m.path, w.token, w.holder, m.opts.hooks, release), nil
}

// tryLocally asks ZooKeeper, unless somebody here holds the lock or waits for it.
func (m *Mutex) tryLocally(ctx context.Context) (*Lock, error) {
	m.s.mu.Lock()
	q := m.s.queues[m.path]
	wanted := q != nil && (q.holder == nil || q.holder.lost() == nil)
	m.s.mu.Unlock()
	if wanted {
		return nil, ErrNotAcquired
	}
	return m.acquireInQueue(ctx, m.opts.mutexLine(m.path), true)
}

// join adds a waiter to the path's queue, which it begins if there is none.
func (m *Mutex) join() (*localQueue, *waiter) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	q := m.s.queues[m.path]
	if q == nil {
		q = &localQueue{s: m.s, path: m.path, opts: &m.opts}
		m.s.queues[m.path] = q
	}
	w := &waiter{ready: make(chan struct{})}
	w.element = q.waiting.PushBack(w)
	switch {
	case q.holder != nil && q.holder.lost() != nil: // after a pause of the process, no event has come for it yet
		q.endTurn()
	case q.holder != nil:
		q.watchTurn()
	case q.waiting.Len() == 1:
		q.takePlace()
	}
	return q, w
}

// leave takes w out of the queue, because ctx has ended, and returns the error of its acquisition. With the last waiter
// the process leaves ZooKeeper's queue, too. A grant that comes at the same time goes to the next waiter.
func (q *localQueue) leave(ctx context.Context, w *waiter) error {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	err := context.Cause(ctx)
	if q.holder != nil || q.behind.Load() && q.s.conn.Up() {
		err = notAcquired(ctx)
	}
	switch {
	case w.element != nil:
		q.waiting.Remove(w.element)
		w.element = nil
		if q.waiting.Len() == 0 && q.holder == nil {
			q.withdraw()
			q.forget()
		}
	case w.err == nil && !q.handOn(w.holder):
		w.holder.drop()
	}
	return err
}

// forget takes the queue out of the Session: the next acquisition begins another. The caller holds the mutex.
func (q *localQueue) forget() {
	if q.s.queues[q.path] == q {
		delete(q.s.queues, q.path)
	}
}

// takePlace queues in ZooKeeper for those who wait here. The caller holds the mutex.
func (q *localQueue) takePlace() {
	ctx, withdraw := context.WithCancel(q.s.conn.Context())
	q.withdraw = withdraw
	begun := q.s.conn.Go(func() {
		l := q.opts.mutexLine(q.path)
		l.behind = &q.behind
		h, err := q.s.queue(ctx, l, false)
		withdraw()
		q.s.mu.Lock()
		defer q.s.mu.Unlock()
		q.beginTurn(h, err)
	})
	if !begun {
		withdraw()
		q.beginTurn(nil, ErrSessionClosed)
	}
}

// beginTurn grants the lock to the first waiter, or gives the error of the acquisition to all of them. If
// all have left, it gives the lock up. The caller holds the mutex.
func (q *localQueue) beginTurn(h *holder, err error) {
	if err != nil {
		for q.waiting.Len() > 0 {
			q.serve(nil, err)
		}
		q.forget()
		return
	}
	if q.waiting.Len() == 0 {
		h.drop()
		return
	}
	q.holder, q.grants, q.watching, q.rival = h, 0, false, false
	if h.followers > 0 {
		q.bound()
	}
	q.serve(h, nil) // the bounds do not apply: otherwise processes could take the lock from each other unused
	if q.waiting.Len() > 0 {
		q.watchTurn()
	}
}

// serve grants the lock to the first waiter, or has its acquisition fail. The caller holds the mutex.
func (q *localQueue) serve(h *holder, err error) {
	w := q.waiting.Remove(q.waiting.Front()).(*waiter)
	w.element, w.holder, w.err = nil, h, err
	if err == nil {
		q.grants++
		q.left--
		w.token = Token{Czxid: h.czxid, Local: q.grants}
	}
	close(w.ready)
}

// release takes the lock back from a goroutine and hands it on. If nobody here may have it, it gives the
// process's node up and waits until that is removed.
func (q *localQueue) release(ctx context.Context, h *holder) error {
	q.s.mu.Lock()
	handed := q.handOn(h)
	q.s.mu.Unlock()
	if handed {
		return nil
	}
	return h.release(ctx)
}

// handOn grants the lock, which nobody here holds any more, to the first waiter. It returns false if the
// turn is over: then the caller gives h up. The caller holds the mutex.
func (q *localQueue) handOn(h *holder) bool {
	if q.holder != h {
		return false
	}
	if q.waiting.Len() > 0 && h.lost() == nil && (!q.rival || q.left > 0 && conn.Now() < q.until) {
		q.serve(h, nil)
		return true
	}
	q.endTurn()
	return false
}

// endTurn has those who still wait here queue again in ZooKeeper, behind its present waiters. The caller
// holds the mutex.
func (q *localQueue) endTurn() {
	q.holder = nil
	if q.waiting.Len() > 0 {
		q.takePlace()
	} else {
		q.forget()
	}
}

// bound begins the bounded part of the turn: another process waits. The caller holds the mutex.
func (q *localQueue) bound() {
	q.rival = true
	q.left = q.opts.handoffs
	q.until = conn.Now() + conn.Instant(q.opts.handoff)
}

// watchTurn waits for the end of the turn by a loss, and for another process in ZooKeeper's queue if none is known.
// Nobody does so while nobody here waits: then the next release or acquisition ends the turn. The caller holds the
// mutex.
func (q *localQueue) watchTurn() {
	if q.watching {
		return
	}
	h, rival := q.holder, q.rival
	q.watching = q.s.conn.Go(func() {
		if !rival && h.awaitRival(h.ctx) == nil {
			q.s.mu.Lock()
			if q.holder == h {
				q.bound()
			}
			q.s.mu.Unlock()
		}
		<-h.ctx.Done()
		q.s.mu.Lock()
		defer q.s.mu.Unlock()
		if q.holder == h {
			q.endTurn()
		}
	})
	if !q.watching { // the Session is closed
		q.endTurn()
	}
}
