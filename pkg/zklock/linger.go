package zklock

import (
	"context"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/conn"
	"orderstock/pkg/zklock/internal/queue"
)

const (
	// lookPause is how long after a failed look at ZooKeeper's queue the next one is taken.
	lookPause = 50 * time.Millisecond
	// tellPause is how long after a failed notice the next one for that lock is sent.
	tellPause = 20 * time.Millisecond
	// mostTold bounds the holders that are remembered. One that is forgotten may be notified again.
	mostTold = 1024
)

// run takes turns in ZooKeeper's queue, and ends them, while somebody here wants the lock.
func (q *localQueue) run() {
	select {
	case <-q.wake: // by the first to join
	case <-q.s.conn.Context().Done():
	}
	for {
		ctx, ok := q.begin()
		if !ok {
			return
		}
		h, err := q.s.acquire(ctx, mutexLine(q.path, q.opts.names), q.opts, false)
		if t := q.settle(ctx, h, err); t != nil {
			q.serve(t)
			q.end(t)
		}
	}
}

// begin returns the context for queueing, which ends when nobody here waits any more. If nobody
// waits now, it removes the local queue.
func (q *localQueue) begin() (context.Context, bool) {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.gone = q.waiting.Len() == 0; q.gone {
		delete(q.s.queues, q.path)
		return nil, false
	}
	var ctx context.Context
	ctx, q.withdraw = context.WithCancel(q.s.conn.Context())
	return ctx, true
}

// settle begins the turn, with the grant to the first waiter. If the acquisition failed, it gives the
// error to all waiters. If it failed because all waiters had left, later ones get another attempt.
func (q *localQueue) settle(ctx context.Context, h *holder, err error) *turn {
	session := q.s.conn.Context()
	q.mu.Lock()
	defer q.mu.Unlock()
	withdrawn := ctx.Err() != nil && session.Err() == nil
	q.withdraw()
	q.withdraw = nil
	if err == nil {
		q.turn = &turn{holder: h, over: make(chan struct{})}
		if h.behind > 0 {
			q.turn.bound(&q.opts)
		}
		q.handOn()
		return q.turn
	}
	if session.Err() != nil {
		err = context.Cause(session)
	}
	if !withdrawn {
		for q.waiting.Len() > 0 {
			q.serveFirst(grant{err: err})
		}
	}
	return nil
}

// serve returns when the turn is to end: it is used up, nobody here wants the lock, or it is lost. A
// watch on the parent's children reports other processes: one event for the first to come, and none
// in a turn where one waits from the start.
func (q *localQueue) serve(t *turn) {
	var (
		arrivals <-chan zk.Event
		again    <-chan time.Time
		look     = true
	)
	for !q.ended(t) {
		if look && !q.bounded(t) {
			look, again = false, nil
			if arrivals = q.look(t); arrivals == nil {
				again = time.After(lookPause)
			}
			continue
		}
		select {
		case <-arrivals:
			arrivals, look = nil, true
			q.tried(t)
		case <-again:
			look = true
		case <-q.wake:
		case <-t.holder.ctx.Done():
		}
	}
}

// tried notes that a process came, and may have gone.
func (q *localQueue) tried(t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t.tried = true
}

// ended reports whether the turn is to end. serve asks at every event.
func (q *localQueue) ended(t *turn) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.held {
		return t.holder.ctx.Err() != nil
	}
	lingered := time.Duration(conn.Now()-t.idle) >= q.opts.linger
	if q.waiting.Len() == 0 && (t.rival || t.tried || lingered) || !t.mayGrant() {
		t.ending = true
	}
	return t.ending
}

func (q *localQueue) bounded(t *turn) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return t.rival
}

// look reads whether others are in ZooKeeper's queue, or have been since our node was made, and returns
// a watch on its next change.
func (q *localQueue) look(t *turn) <-chan zk.Event {
	children, events, err := q.s.conn.ChildrenW(t.holder.ctx, q.path)
	if err != nil {
		return nil
	}
	if children.Stat.Pzxid > t.holder.czxid {
		q.tried(t)
	}
	members := queue.Members(children.Names, q.opts.names...)
	if len(members) > 1 || len(members) == 1 && members[0].Name != t.holder.Name() {
		q.mu.Lock()
		t.bound(&q.opts)
		q.mu.Unlock()
	}
	return events
}

// end gives the process's node up. It does not wait for that: if another turn is needed, its node is
// made at the same time, behind the present waiters.
func (q *localQueue) end(t *turn) {
	q.mu.Lock()
	q.turn = nil
	if t.timer != nil {
		t.timer.Stop()
	}
	q.mu.Unlock()
	t.holder.end()
	t.removed = t.holder.Remove()
	close(t.over)
}

// linger keeps the lock for the next acquisition here. The caller holds the mutex.
func (q *localQueue) linger(t *turn) {
	t.idle = conn.Now()
	if t.timer == nil {
		q.lookIn(t, q.opts.linger)
	}
}

// lookIn checks after d whether the lock has been idle for the linger, and if so wakes run. There is
// one timer for each linger, and none while the lock is held for longer. The caller holds the mutex.
func (q *localQueue) lookIn(t *turn, d time.Duration) {
	t.timer = time.AfterFunc(d, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		t.timer = nil
		if t.held || t.ending {
			return
		}
		if left := q.opts.linger - time.Duration(conn.Now()-t.idle); left > 0 {
			q.lookIn(t, left)
			return
		}
		q.rouse()
	})
}

// tryNotices wake a process that lingers on a lock after another's TryAcquire was refused. The zero
// value is ready for use.
type tryNotices struct {
	mu   sync.Mutex
	told map[string]string // the holder that was notified last, by the path of the lock
}

// tell makes and removes a node in dir, whose children a lingering process watches, in one transaction,
// so that nothing can be left. It does not wait for that. The holder, which is a node in dir, is notified
// once: its process does not linger on that node any more.
func (n *tryNotices) tell(c *conn.Conn, dir, holder string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.told[dir] == holder {
		return
	}
	begun := c.Go(func() {
		path := dir + "/" + queue.NewGUID()
		err := c.Multi(c.Context(),
			&zk.CreateRequest{Path: path, Acl: c.ACL, Flags: zk.FlagEphemeral},
			&zk.DeleteRequest{Path: path, Version: -1})
		if err != nil { // another try notifies again
			timer := time.NewTimer(tellPause)
			defer timer.Stop()
			_ = conn.Wait(c.Context(), timer.C)
			n.forget(dir, holder)
		}
	})
	if begun {
		if n.told == nil || len(n.told) >= mostTold {
			n.told = map[string]string{}
		}
		n.told[dir] = holder
	}
}

func (n *tryNotices) forget(dir, holder string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.told[dir] == holder {
		delete(n.told, dir)
	}
}
