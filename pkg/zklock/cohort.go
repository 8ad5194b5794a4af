package zklock

import (
	"container/list"
	"context"
	"fmt"
	"sync"
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
	idle   instant

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
	if co == nil {
		return s.acquirePlain(ctx, mutexLine(path, true), path, o)
	}
	g := co.tryGrant()
	if g.tenure == nil {
		return nil, ErrNotAcquired
	}
	return co.lock(ctx, g, o.hooks), nil
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

func (co *cohort) tryGrant() grant {
	co.mu.Lock()
	defer co.mu.Unlock()
	if !co.free() {
		return grant{}
	}
	return co.tenure.grant()
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
			_ = co.release(g.tenure) // nobody has held it
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
// may have been over by then, of which a process that was paused hears only in a moment.
func (co *cohort) release(t *tenure) error {
	co.mu.Lock()
	defer co.mu.Unlock()
	alive := t.claim.alive()
	if co.tenure == t {
		t.held = false
		co.advance()
	}
	if !alive {
		return fmt.Errorf("%w: %w", ErrLost, errSilence)
	}
	return nil
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
	case t.rival || co.opts.linger <= 0:
		t.ending = true
		co.rouse()
	default:
		t.idle = now()
	}
}

func (co *cohort) rouse() {
	select {
	case co.wake <- struct{}{}:
	default:
	}
}

// mayGrant says that the lock is still the process's, by the local clock, and that a rival has not
// waited long enough.
func (t *tenure) mayGrant() bool {
	return !t.ending && t.claim.alive() && (!t.rival || t.left > 0 && now() < t.until)
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
	lock.giveUp = func(context.Context) error { return co.release(g.tenure) }
	hooks.handedOver(co.path, g.token.Local > 1)
	return lock
}
