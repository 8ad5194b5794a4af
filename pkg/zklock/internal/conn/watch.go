package conn

import (
	"context"

	"github.com/go-zookeeper/zk"
)

// Watch is one watch on a node that exists. All users of the node share it: the client library cannot
// remove a watch, so each one stays until the node goes, and a thousand waiters that gave up would
// leave a thousand watches.
type Watch struct {
	conn  *Conn
	armed chan struct{} // closed when stat or err is known
	stat  zk.Stat
	err   error
	fired context.Context
	event zk.Event // valid after fired
}

// Armed waits until the watch is set, and returns the node as it was then. It fails with
// zk.ErrNoNode if there is no such node, and with other errors if the watch could not be set.
func (w *Watch) Armed(ctx context.Context) (zk.Stat, error) {
	if err := Wait(ctx, w.armed); err != nil {
		return zk.Stat{}, err
	}
	return w.stat, w.err
}

// Fired returns a channel that is closed when an armed watch has fired or the Conn is closed.
func (w *Watch) Fired() <-chan struct{} { return w.fired.Done() }

// AfterFired has f called by Conn.Go when an armed watch has fired.
func (w *Watch) AfterFired(f func()) { context.AfterFunc(w.fired, func() { w.conn.Go(f) }) }

// Deleted reports whether a watch that has fired tells that the node was deleted. If not, the node's
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
	w = &Watch{conn: c, armed: make(chan struct{}), fired: fired}
	c.watches[node] = w
	c.mu.Unlock()
	if !c.Go(func() { c.keep(node, w, fire) }) {
		w.err = ErrClosed
		close(w.armed)
		fire()
	}
	return w
}

// keep sets the watch and waits for its event. It uses GetW because ExistsW would leave a watch on a
// node that is not there.
func (c *Conn) keep(node string, w *Watch, fire func()) {
	defer fire()
	_, stat, events, err := c.ZK.GetW(node)
	if err == nil {
		w.stat = *stat
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
