package zklock

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"
)

// cohort is the queue within the process for one path of a Session. The process takes one place
// in ZooKeeper for all who wait here, its tenure, and the lock is handed on among them without
// ZooKeeper: lock cohorting (Dice, Marathe, Shavit, "Lock Cohorting", PPoPP 2012). A grant costs a
// mutex and a channel then, not a create and a delete on the server's disk.
//
// What needs ZooKeeper is done by one goroutine, the cohort's keeper. It lives while there is a
// tenure or somebody waits.
type cohort struct {
	s    *Session
	path string
	opts options
	wake chan struct{} // for the keeper: look at the tenure

	mu       sync.Mutex
	gone     bool      // the keeper has ended: the Session has another cohort for the path
	waiting  list.List // of *waiter, first come first
	tenure   *tenure   // nil while the process has no place, or has not come first yet
	withdraw context.CancelFunc
}

// waiter is one acquisition that waits. It is in the list until it is granted or fails.
type waiter struct {
	ready chan grant
	place *list.Element // nil once it has left the list
}

// grant is what a waiter gets.
type grant struct {
	tenure *tenure
	token  Token
	err    error
}

// tenure is the time in which the process has the lock in ZooKeeper.
type tenure struct {
	claim  *claim
	held   bool   // by one here
	grants uint64 // so far

	idle  instant
	timer *time.Timer // to look whether it is idle for long; nil if the lock was held when it fired

	asked bool          // another process has tried: the place is not kept once it is idle
	gone  chan struct{} // closed when the place is given up
	err   error         // why it could not be; valid after gone

	rival  bool    // another process is seen waiting: from then on it is bounded
	left   int     // grants, once there is a rival
	until  instant // once there is a rival
	ending bool    // no more grants
}

// acquireLocally acquires the mutex's lock through the cohort.
func (s *Session) acquireLocally(ctx context.Context, path string, o options) (*Lock, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for {
		co, err := s.cohort(path, o)
		if err != nil {
			return nil, err
		}
		g, w := co.join()
		if w == nil && g.tenure == nil {
			continue // it has gone
		}
		if w != nil {
			if g, err = co.wait(ctx, w); err != nil {
				return nil, err
			}
		}
		return co.lock(ctx, g, o.hooks), nil
	}
}

// tryLocally takes the lock if the process has it and nobody uses it. Where nobody here is
// concerned with the path, ZooKeeper is asked.
func (s *Session) tryLocally(ctx context.Context, path string, o options) (*Lock, error) {
	s.mu.Lock()
	co := s.queues[path]
	s.mu.Unlock()
	if co != nil {
		g, wanted := co.tryGrant()
		if g.tenure != nil {
			return co.lock(ctx, g, o.hooks), nil
		}
		if wanted {
			return nil, ErrNotAcquired
		}
	}
	return s.acquirePlain(ctx, mutexLine(path, o.names, true), path, o)
}

// cohort returns the path's cohort, and begins one where there is none.
func (s *Session) cohort(path string, o options) (*cohort, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	co := s.queues[path]
	if co == nil && s.closed {
		return nil, ErrSessionClosed
	}
	if co == nil {
		co = &cohort{s: s, path: path, opts: o, wake: make(chan struct{}, 1)}
		s.queues[path] = co
		s.background.Go(co.keep)
	}
	return co, nil
}

// join grants the lock at once where it is free, and queues otherwise. Where the cohort has gone,
// it does neither.
func (co *cohort) join() (grant, *waiter) {
	co.mu.Lock()
	defer co.mu.Unlock()
	if co.gone {
		return grant{}, nil
	}
	if co.free() {
		return co.tenure.grant(), nil
	}
	w := &waiter{ready: make(chan grant, 1)}
	w.place = co.waiting.PushBack(w)
	if co.waiting.Len() == 1 {
		co.rouse()
	}
	return grant{}, w
}

// tryGrant grants the lock if it is free, and otherwise says whether the process has it, or wants it.
func (co *cohort) tryGrant() (g grant, wanted bool) {
	co.mu.Lock()
	defer co.mu.Unlock()
	if co.free() {
		return co.tenure.grant(), true
	}
	return grant{}, co.tenure != nil || co.waiting.Len() > 0
}

// free says that the lock is the process's, and nobody's here. The caller holds the mutex.
func (co *cohort) free() bool {
	t := co.tenure
	return t != nil && !t.held && co.waiting.Len() == 0 && t.mayGrant()
}

// wait waits for the grant. One that comes as ctx ends goes to the next.
func (co *cohort) wait(ctx context.Context, w *waiter) (grant, error) {
	select {
	case g := <-w.ready:
		return g, g.err
	case <-ctx.Done():
	}
	if !co.leave(w) {
		if g := <-w.ready; g.err == nil {
			_, _ = co.handBack(g.tenure) // nobody has held it
		}
	}
	return grant{}, context.Cause(ctx)
}

// leave takes w out of the queue and says whether it was there. With the last one, the process
// leaves ZooKeeper's queue, too.
func (co *cohort) leave(w *waiter) bool {
	co.mu.Lock()
	defer co.mu.Unlock()
	if w.place == nil {
		return false
	}
	co.waiting.Remove(w.place)
	w.place = nil
	if co.waiting.Len() == 0 && co.withdraw != nil {
		co.withdraw()
	}
	return true
}

// serveFirst gives g to the first in the queue. The caller holds the mutex.
func (co *cohort) serveFirst(g grant) {
	w := co.waiting.Remove(co.waiting.Front()).(*waiter)
	w.place = nil
	w.ready <- g
}

// release takes the lock back from a holder and passes it on. It returns ErrLost where the session
// may have been over by then, of which a process that was paused hears only in a moment. Without a
// linger, if nobody here wants the lock, it waits until the place is given up.
func (co *cohort) release(ctx context.Context, t *tenure) error {
	alive, kept := co.handBack(t)
	if !alive {
		return fmt.Errorf("%w: %w", ErrLost, errSilence)
	}
	if kept || co.opts.linger > 0 {
		return nil
	}
	select {
	case <-t.gone:
		return t.err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-co.s.ctx.Done():
		return ErrSessionClosed
	}
}

// handBack takes the lock back and passes it on. It says whether the lock was good until then, and
// whether the process goes on with its place, or with another.
func (co *cohort) handBack(t *tenure) (alive, kept bool) {
	co.mu.Lock()
	defer co.mu.Unlock()
	alive = t.claim.alive()
	if co.tenure == t {
		t.held = false
		co.advance()
	}
	return alive, !t.ending || co.waiting.Len() > 0
}

// advance grants the free lock to the first in the queue, or lets the keeper end the tenure. The
// caller holds the mutex.
func (co *cohort) advance() {
	t := co.tenure
	switch {
	case !t.mayGrant():
		t.ending = true
		co.rouse()
	case co.waiting.Len() > 0:
		co.serveFirst(t.grant())
	case t.rival || t.asked || co.opts.linger <= 0:
		t.ending = true
		co.rouse()
	default:
		t.idle = now()
		if t.timer == nil {
			co.lookIn(t, co.opts.linger)
		}
	}
}

// lookIn looks in d whether the place has been idle for the linger, and wakes the keeper then. One
// timer for each linger does, and none runs while the lock is held for longer. The caller holds the
// mutex.
func (co *cohort) lookIn(t *tenure, d time.Duration) {
	t.timer = time.AfterFunc(d, func() {
		co.mu.Lock()
		defer co.mu.Unlock()
		t.timer = nil
		if t.held || t.ending {
			return
		}
		if left := co.opts.linger - time.Duration(now()-t.idle); left > 0 {
			co.lookIn(t, left)
			return
		}
		co.rouse()
	})
}

func (co *cohort) rouse() {
	select {
	case co.wake <- struct{}{}:
	default:
	}
}

// mayGrant says that the lock is still the process's, by the local clock, and that a rival has not
// waited long enough. The first grant is not bounded: processes that gave up every place unused
// would do nothing else.
func (t *tenure) mayGrant() bool {
	return !t.ending && t.claim.alive() && (!t.rival || t.grants == 0 || t.left > 0 && now() < t.until)
}

func (t *tenure) grant() grant {
	t.held = true
	t.grants++
	t.left--
	return grant{tenure: t, token: Token{Czxid: t.claim.czxid, Local: t.grants}}
}

// lock makes the handle of a grant.
func (co *cohort) lock(ctx context.Context, g grant, hooks Hooks) *Lock {
	lock := newLock(ctx, g.tenure.claim.ctx, co.path, g.token, hooks)
	lock.claims = []*claim{g.tenure.claim}
	lock.giveUp = func(ctx context.Context) error { return co.release(ctx, g.tenure) }
	hooks.handedOver(co.path, g.token.Local > 1)
	return lock
}
