package conn

import (
	"cmp"
	"context"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// watchDelay is when a Watch is set that nobody has asked for its state. A waiter in a queue looks at the queue
// before it takes the lock, so it needs the watch on its node only to queue again early.
const watchDelay = time.Second

// Watch is one watch on a node that exists. All users of the node share it: the client library cannot remove a watch,
// so each one stays until the node goes, and a thousand waiters that gave up would leave a thousand watches. It is set
// when Armed is called first, or after a delay: a node that is gone by then has cost no request.
type Watch struct {
	conn  *Conn
	node  string
	begun sync.Once     // by set or by Drop
	timer *time.Timer   // calls set
	armed chan struct{} // closed when stat or err is known
	stat  zk.Stat
	err   error
	fired chan struct{} // closed when event is valid
	event zk.Event

	listing atomic.Bool   // somebody wants Siblings
	listed  chan struct{} // closed after fired, when names is valid
	names   []string
}

// List has the node's siblings listed as soon as the watch fires, for Siblings. Call it before Armed.
func (w *Watch) List() { w.listing.Store(true) }

// Listed returns a channel that is closed when an armed watch has fired and, after a call of List, the siblings were
// listed. It wakes a waiter once, where Fired and a request would do so twice.
func (w *Watch) Listed() <-chan struct{} { return w.listed }

// Siblings returns the children of the node's parent as they were after the watch had fired, or nil if they are not
// known. It is for use after Listed.
func (w *Watch) Siblings() []string { return w.names }

// Armed waits until the watch is set, and returns the node as it was then. It fails with
// zk.ErrNoNode if there is no such node, and with other errors if the watch could not be set.
func (w *Watch) Armed(ctx context.Context) (zk.Stat, error) {
	w.timer.Stop()
	w.set()
	if err := Wait(ctx, w.armed); err != nil {
		return zk.Stat{}, err
	}
	return w.stat, w.err
}

// Fired returns a channel that is closed when an armed watch has fired or the Conn is closed.
func (w *Watch) Fired() <-chan struct{} { return w.fired }

// Deleted reports whether a watch that has fired shows that the node was deleted. If not, the node's
// data has changed or the session is over.
func (w *Watch) Deleted() bool { return w.event.Type == zk.EventNodeDeleted }

// Watch returns the watch on a node: the present one, or a new one, which is set within a second. It does not wait.
func (c *Conn) Watch(node string) *Watch {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.watches[node]
	if w == nil {
		w = &Watch{
			conn: c, node: node, armed: make(chan struct{}), fired: make(chan struct{}), listed: make(chan struct{}),
		}
		w.timer = time.AfterFunc(watchDelay, w.set)
		c.watches[node] = w
	}
	return w
}

// Drop ends the watch on a node that is gone, if it is not set yet.
func (c *Conn) Drop(node string) {
	c.mu.Lock()
	w := c.watches[node]
	c.mu.Unlock()
	if w != nil {
		w.timer.Stop()
		w.begun.Do(func() { w.end(zk.ErrNoNode) })
	}
}

// set sets the watch if that was not begun, and does not wait.
func (w *Watch) set() {
	w.begun.Do(func() {
		if !w.conn.Go(w.keep) {
			w.end(ErrClosed)
		}
	})
}

// end ends a watch that could not be set.
func (w *Watch) end(err error) {
	w.forget()
	w.err = err
	close(w.armed)
	close(w.fired)
	close(w.listed)
}

func (w *Watch) forget() {
	w.conn.mu.Lock()
	defer w.conn.mu.Unlock()
	delete(w.conn.watches, w.node)
}

// keep sets the watch and waits for its event. It uses GetW because ExistsW would leave a watch on a
// node that is not there.
func (w *Watch) keep() {
	_, stat, events, err := w.conn.ZK.GetW(w.node)
	if err != nil {
		w.end(err)
		return
	}
	w.stat = *stat
	close(w.armed)
	w.event = w.conn.next(w.node, stat, events)
	w.forget()
	close(w.fired)
	if w.listing.Load() && w.conn.ctx.Err() == nil {
		if names, _, err := w.conn.ZK.Children(path.Dir(w.node)); err == nil {
			w.names = names
		}
	}
	close(w.listed)
}

// next waits for the event of a watch on the node, which had that state, and returns none if c is closed before. The
// server drops an event whose receiver may not read the node at that moment. So next looks once in a session timeout
// whether the node is there with the same children, which needs no permission.
func (c *Conn) next(node string, was *zk.Stat, events <-chan zk.Event) zk.Event {
	for {
		select {
		case event := <-events:
			return event
		case <-c.ctx.Done():
			return zk.Event{}
		case <-time.After(cmp.Or(c.Timeout(), watchDelay)):
		}
		switch there, stat, err := c.ZK.Exists(node); {
		case err != nil: // the session or the connection is away
		case !there:
			return zk.Event{Type: zk.EventNodeDeleted}
		case stat.Pzxid != was.Pzxid:
			return zk.Event{Type: zk.EventNodeChildrenChanged}
		}
	}
}
