package zklock

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"
)

// lookPause is how long after a look at the queue that failed the next one is taken.
const lookPause = 50 * time.Millisecond

// keep is the cohort's keeper: it takes the process's place in ZooKeeper, serves the tenure, and
// gives the place up, for as long as somebody here wants the lock.
func (co *cohort) keep() {
	select {
	case <-co.wake: // by the first to join
	case <-co.s.ctx.Done():
	}
	for {
		ctx, ok := co.begin()
		if !ok {
			return
		}
		c, err := co.s.stand(ctx, mutexLine(co.path, co.opts.names, false), co.opts)
		t := co.settle(ctx, c, err)
		if t == nil {
			continue
		}
		co.serve(t)
		co.finish(t)
	}
}

// begin returns the context in which to stand in line, which ends when nobody here waits any more.
// Where nobody does, the cohort is gone.
func (co *cohort) begin() (context.Context, bool) {
	co.s.mu.Lock()
	defer co.s.mu.Unlock()
	co.mu.Lock()
	defer co.mu.Unlock()
	if co.gone = co.waiting.Len() == 0; co.gone {
		delete(co.s.queues, co.path)
		return nil, false
	}
	var ctx context.Context
	ctx, co.withdraw = context.WithCancel(co.s.ctx)
	return ctx, true
}

// settle begins the tenure, with the grant to the first who waits. Without a claim it tells those
// who wait, unless they are others than those for whom it stood in line.
func (co *cohort) settle(ctx context.Context, c *claim, err error) *tenure {
	co.mu.Lock()
	defer co.mu.Unlock()
	withdrawn := ctx.Err() != nil && co.s.ctx.Err() == nil
	co.withdraw()
	co.withdraw = nil
	if err == nil {
		co.tenure = &tenure{claim: c, gone: make(chan struct{})}
		if c.rivals > 0 {
			co.tenure.bound(co.opts)
		}
		co.advance()
		return co.tenure
	}
	if co.s.ctx.Err() != nil {
		err = context.Cause(co.s.ctx)
	}
	if !withdrawn {
		for co.waiting.Len() > 0 {
			co.serveFirst(grant{err: err})
		}
	}
	return nil
}

// bound begins the bounded part of the tenure: another process waits.
func (t *tenure) bound(o options) {
	t.rival = true
	t.left = o.handoffs
	t.until = now() + instant(o.handoff)
}

// serve returns when the tenure is to end: it was used up, or nobody here wants the lock, or it was
// lost. The arrival of other processes is told by a watch on the parent's children, which is
// one event for the first of them, and none in the tenures in which somebody waits from the start.
func (co *cohort) serve(t *tenure) {
	var (
		arrivals <-chan zk.Event
		again    <-chan time.Time
		look     = true
	)
	for !co.over(t) {
		if look && !co.bounded(t) {
			look, again = false, nil
			if arrivals = co.look(t); arrivals == nil {
				again = time.After(lookPause)
			}
			continue
		}
		select {
		case <-arrivals:
			arrivals, look = nil, true
			co.asked(t)
		case <-again:
			look = true
		case <-co.wake:
		case <-t.claim.ctx.Done():
		}
	}
}

// asked notes that somebody came to the queue, who may have tried and gone.
func (co *cohort) asked(t *tenure) {
	co.mu.Lock()
	defer co.mu.Unlock()
	t.asked = true
}

// over says that the tenure is to end. It is asked at every event.
func (co *cohort) over(t *tenure) bool {
	co.mu.Lock()
	defer co.mu.Unlock()
	if t.held {
		return t.claim.ctx.Err() != nil
	}
	lingered := time.Duration(now()-t.idle) >= co.opts.linger
	if co.waiting.Len() == 0 && (t.rival || t.asked || lingered) || !t.mayGrant() {
		t.ending = true
	}
	return t.ending
}

func (co *cohort) bounded(t *tenure) bool {
	co.mu.Lock()
	defer co.mu.Unlock()
	return t.rival
}

// look reads who else is in the queue. Where nobody is, it returns a watch on the next arrival.
func (co *cohort) look(t *tenure) <-chan zk.Event {
	names, events, err := co.s.childrenW(t.claim.ctx, co.path)
	if err != nil {
		return nil
	}
	queue := members(names, co.opts.names...)
	if len(queue) > 1 || len(queue) == 1 && queue[0].Name != t.claim.name() {
		co.mu.Lock()
		t.bound(co.opts)
		co.mu.Unlock()
	}
	return events
}

// finish gives the process's place up. It does not wait for that: the next place, where one is
// needed, is taken at the same time, and is behind those who wait already.
func (co *cohort) finish(t *tenure) {
	co.mu.Lock()
	co.tenure = nil
	if t.timer != nil {
		t.timer.Stop()
	}
	co.mu.Unlock()
	t.claim.end()
	co.s.spawn(func() {
		t.err = t.claim.remove()
		close(t.gone)
	})
}
