package conn

import (
	"context"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// watchDelay is how long after its beginning a Watch is set if nobody waits for it.
const watchDelay = 100 * time.Millisecond

// Watch is one watch on a node that exists. All users of the node share it: the client library cannot
// remove a watch, so each one stays until the node goes, and a thousand waiters that gave up would
// leave a thousand watches. It is set when Armed is called first, or after watchDelay: a node that is
// gone by then has cost no request.
type Watch struct {
	conn  *Conn
	want  func()        // has it set now
	drop  func()        // ends it if it is not set yet
	armed chan struct{} // closed when stat or err is known
	stat  zk.Stat
	err   error
	fired context.Context
	event zk.Event // valid after fired
}

// Armed waits until the watch is set, and returns the node as it was then. It fails with
// zk.ErrNoNode if there is no such node, and with other errors if the watch could not be set.
func (w *Watch) Armed(ctx context.Context) (zk.Stat, error) {
	w.want()
	if err := Wait(ctx, w.armed); err != nil {
		return zk.Stat{}, err
	}
	return w.stat, w.err
}

// Fired returns a channel that is closed when an armed watch has fired or the Conn is closed.
func (w *Watch) Fired() <-chan struct{} { return w.fired.Done() }

// AfterFired has f called by Conn.Go when an armed watch has fired.
func (w *Watch) AfterFired(f func()) { context.AfterFunc(w.fired, func() { w.conn.Go(f) }) }

// Deleted reports whether a watch that has fired shows that the node was deleted. If not, the node's
// data has changed or the session is over.
func (w *Watch) Deleted() bool { return w.event.Type == zk.EventNodeDeleted }

// Watch returns the watch on a node: the present one, or a new one. It does not wait.
func (c *Conn) Watch(node string) *Watch {
	c.mu.Lock()
	w := c.watches[node]
	if w != nil {
		c.mu.Unlock()
		return w
	}
	fired, fire := context.WithCancel(context.WithoutCancel(c.ctx))
	wanted, dropped := make(chan struct{}), make(chan struct{})
	w = &Watch{
		conn: c, armed: make(chan struct{}), fired: fired,
		want: sync.OnceFunc(func() { close(wanted) }), drop: sync.OnceFunc(func() { close(dropped) }),
	}
	c.watches[node] = w
	c.mu.Unlock()
	if !c.Go(func() { c.keep(node, w, fire, wanted, dropped) }) {
		w.err = ErrClosed
		close(w.armed)
		fire()
	}
	return w
}

// Drop ends the watch on a node that is gone, if it is not set yet.
func (c *Conn) Drop(node string) {
	c.mu.Lock()
	w := c.watches[node]
	c.mu.Unlock()
	if w != nil {
		w.drop()
	}
}

// keep sets the watch and waits for its event. It uses GetW because ExistsW would leave a watch on a
// node that is not there.
func (c *Conn) keep(node string, w *Watch, fire func(), wanted, dropped <-chan struct{}) {
	defer fire()
	events, err := c.arm(node, w, wanted, dropped)
	if err == nil {
		close(w.armed)
		select {
		case w.event = <-events:
		case <-c.ctx.Done():
		}
	}
	c.mu.Lock()
	delete(c.watches, node)
	c.mu.Unlock()
	if err != nil {
		w.err = err
		close(w.armed)
	}
}

// arm sets the watch when it is wanted.
func (c *Conn) arm(node string, w *Watch, wanted, dropped <-chan struct{}) (<-chan zk.Event, error) {
	timer := time.NewTimer(watchDelay)
	defer timer.Stop()
	select {
	case <-wanted:
	case <-timer.C:
	case <-dropped:
		return nil, zk.ErrNoNode
	case <-c.ctx.Done():
		return nil, context.Cause(c.ctx)
	}
	_, stat, events, err := c.ZK.GetW(node)
	if err == nil {
		w.stat = *stat
	}
	return events, err
}
