package zklock

import (
	"container/list"
	"context"
	"sync"
	"time"

	"orderstock/pkg/zklock/internal/conn"
)

// localQueue is the queue within the process for one path of a Session. The process makes one node in
// ZooKeeper's queue for all waiters here, and hands the lock on among them without ZooKeeper: lock
// cohorting (Dice, Marathe, Shavit, "Lock Cohorting", PPoPP 2012). A grant costs a mutex and a channel
// then, not a create and a delete on the server's disk.
//
// One goroutine, run, does everything that needs ZooKeeper. It lives while the process has the lock or
// somebody waits.
type localQueue struct {
	s    *Session
	path string
	opts options
	wake chan struct{} // makes run look at the turn

	mu       sync.Mutex
	gone     bool      // run has ended: the Session has another queue for the path
	waiting  list.List // of *waiter, first come first
	turn     *turn     // nil while the process does not have the lock in ZooKeeper
	withdraw context.CancelFunc
}

// waiter is one acquisition that waits. It is in the list until it is granted or fails.
type waiter struct {
	ready   chan grant
	element *list.Element // nil when it has left the list
}

// grant is a waiter's result.
type grant struct {
	turn  *turn
	token Token
	err   error
}

// turn is a time during which the process has the lock in ZooKeeper.
type turn struct {
	holder *holder
	held   bool   // by a goroutine here
	grants uint64 // so far

	idle  conn.Instant // since when the lock is not held
	timer *time.Timer  // of the linger; nil if the lock was held when it fired

	tried   bool         // another process may have tried to take the lock: do not linger
	removed <-chan error // the outcome of giving the node up; valid when over is closed
	over    chan struct{}

	rival  bool         // another process waits: from then on the turn is bounded
	left   int          // grants, while there is a rival
	until  conn.Instant // while there is a rival
	ending bool         // no more grants
}

// acquireLocally acquires the lock through the process's queue.
func (m *Mutex) acquireLocally(ctx context.Context) (*Lock, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for {
		q := m.queue()
		if q == nil {
			return nil, ErrSessionClosed
		}
		g, w, ok := q.join()
		if !ok {
			continue
		}
		if w != nil {
			if g = q.await(ctx, w); g.err != nil {
				return nil, g.err
			}
		}
		return q.lock(ctx, g, m.opts.hooks), nil
	}
}

// tryLocally takes the lock if the process has it and nobody uses it. If nobody here wants the lock,
// it asks ZooKeeper.
func (m *Mutex) tryLocally(ctx context.Context) (*Lock, error) {
	m.s.mu.Lock()
	q := m.s.queues[m.path]
	m.s.mu.Unlock()
	if q != nil {
		g, wanted := q.tryGrant()
		if g.turn != nil {
			return q.lock(ctx, g, m.opts.hooks), nil
		}
		if wanted {
			return nil, ErrNotAcquired
		}
	}
	return m.acquireInQueue(ctx, true)
}

// queue returns the path's queue, and begins one if there is none. It returns nil after Close.
func (m *Mutex) queue() *localQueue {
	s := m.s
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[m.path]
	if q == nil {
		q = &localQueue{s: s, path: m.path, opts: m.opts, wake: make(chan struct{}, 1)}
		if !s.conn.Go(q.run) {
			return nil
		}
		s.queues[m.path] = q
	}
	return q
}

// join grants the lock if it is free, and otherwise returns the waiter that it has queued. It does
// neither if the queue is gone: then ok is false.
func (q *localQueue) join() (g grant, w *waiter, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.gone:
		return grant{}, nil, false
	case q.free():
		return q.turn.grant(), nil, true
	}
	w = &waiter{ready: make(chan grant, 1)}
	w.element = q.waiting.PushBack(w)
	if q.waiting.Len() == 1 {
		q.rouse()
	}
	return grant{}, w, true
}

// tryGrant grants the lock if it is free, and otherwise reports whether the process has it or wants it.
func (q *localQueue) tryGrant() (g grant, wanted bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free() {
		return q.turn.grant(), true
	}
	return grant{}, q.turn != nil || q.waiting.Len() > 0
}

// free reports whether the process has the lock and nobody here holds it or waits. The caller holds
// the mutex.
func (q *localQueue) free() bool {
	t := q.turn
	return t != nil && !t.held && q.waiting.Len() == 0 && t.mayGrant()
}

// await waits for the grant. One that comes as ctx ends goes to the next waiter.
func (q *localQueue) await(ctx context.Context, w *waiter) grant {
	select {
	case g := <-w.ready:
		return g
	case <-ctx.Done():
	}
	if !q.leave(w) {
		if g := <-w.ready; g.err == nil {
			_, _ = q.handBack(g.turn) // nobody has held it
		}
	}
	return grant{err: context.Cause(ctx)}
}

// leave takes w out of the queue and reports whether it was there. With the last waiter the process
// leaves ZooKeeper's queue, too.
func (q *localQueue) leave(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.element == nil {
		return false
	}
	q.waiting.Remove(w.element)
	w.element = nil
	if q.waiting.Len() == 0 && q.withdraw != nil {
		q.withdraw()
	}
	return true
}

// serveFirst gives g to the first waiter. The caller holds the mutex.
func (q *localQueue) serveFirst(g grant) {
	w := q.waiting.Remove(q.waiting.Front()).(*waiter)
	w.element = nil
	w.ready <- g
}

// lock makes the handle of a grant.
func (q *localQueue) lock(ctx context.Context, g grant, hooks Hooks) *Lock {
	lock := newLock(ctx, g.turn.holder.ctx, q.path, g.token, hooks)
	lock.holders = []*holder{g.turn.holder}
	lock.giveUp = func(ctx context.Context) error { return q.release(ctx, g.turn) }
	if hooks.HandedOver != nil {
		hooks.HandedOver(q.path, g.token.Local > 1)
	}
	return lock
}

// release takes the lock back from a holder and hands it on. It returns ErrLost if the session may
// have been over by then; after a pause of the process, no event has come for that yet. Without a
// linger, if nobody here wants the lock, it waits until the node is deleted.
func (q *localQueue) release(ctx context.Context, t *turn) error {
	alive, kept := q.handBack(t)
	if !alive {
		return errSilence
	}
	if kept || q.opts.linger > 0 {
		return nil
	}
	select {
	case <-t.over:
		return t.holder.awaitRemoval(ctx, t.removed)
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-q.s.conn.Context().Done():
		return ErrSessionClosed
	}
}

// handBack takes the lock back and hands it on. It reports whether the session was alive until then,
// and whether the process keeps its node or makes another.
func (q *localQueue) handBack(t *turn) (alive, kept bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	alive = t.holder.alive()
	if q.turn == t {
		t.held = false
		q.handOn()
	}
	return alive, !t.ending || q.waiting.Len() > 0
}

// handOn grants the free lock to the first waiter, keeps it for the next one, or has run end the turn.
// The caller holds the mutex.
func (q *localQueue) handOn() {
	t := q.turn
	switch {
	case !t.mayGrant():
		t.ending = true
		q.rouse()
	case q.waiting.Len() > 0:
		q.serveFirst(t.grant())
	case t.rival || t.tried || q.opts.linger <= 0:
		t.ending = true
		q.rouse()
	default:
		q.linger(t)
	}
}

func (q *localQueue) rouse() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// bound begins the bounded part of the turn: another process waits.
func (t *turn) bound(o *options) {
	t.rival = true
	t.left = o.handoffs
	t.until = conn.Now() + conn.Instant(o.handoff)
}

// mayGrant reports whether the lock is still the process's, by the local clock, and the bounds for a
// waiting rival are not used up. They do not apply to the first grant: otherwise processes could take
// the lock from each other and never use it.
func (t *turn) mayGrant() bool {
	return !t.ending && t.holder.alive() &&
		(!t.rival || t.grants == 0 || t.left > 0 && conn.Now() < t.until)
}

func (t *turn) grant() grant {
	t.held = true
	t.grants++
	t.left--
	return grant{turn: t, token: Token{Czxid: t.holder.czxid, Local: t.grants}}
}
