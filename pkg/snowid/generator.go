package snowid

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

var (
	// ErrNoLease means that there is no node number to give ids under at present.
	ErrNoLease = errors.New("snowid: no leased node number")
	// ErrClockBack means that the clock stands before a time at which ids were given.
	ErrClockBack = errors.New("snowid: clock stepped back")
	// ErrNoNumber means that every node number is in use.
	ErrNoNumber = errors.New("snowid: no free node number")
)

// clockTolerance is how far the wall clock may step back unnoticed. Ids do not
// suffer from it: within a lease their time runs by the monotonic clock.
const clockTolerance = 10 * time.Millisecond

// Generator gives ids under a leased node number. Safe for concurrent use;
// make one with Lease.
type Generator struct {
	zk   keeper
	opts options

	mu      sync.Mutex
	lease   *lease // nil where there is none
	highest int64  // latest reading of the wall clock, in milliseconds
	closed  bool

	stop context.CancelFunc
	done chan struct{}
}

// Lease takes a node number under root, a ZooKeeper path that all processes of
// one id space share and that it makes if missing, and returns a generator
// that keeps it. It tries until ctx ends, and returns the last error then:
// ErrNoNumber, ErrClockBack or the connection's.
//
// The connection stays the caller's, and must outlive the generator.
func Lease(ctx context.Context, conn Conn, root string, opts ...Option) (*Generator, error) {
	o := options{reserve: 10 * time.Second, numbers: Numbers, now: time.Now}
	for _, opt := range opts {
		opt(&o)
	}
	g := &Generator{zk: newKeeper(conn, root), opts: o, done: make(chan struct{})}
	if err := g.leaseAgain(ctx); err != nil {
		return nil, err
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	g.stop = stop
	go g.keep(work)
	return g, nil
}

// Next returns an id, or ErrNoLease or ErrClockBack.
func (g *Generator) Next() (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lease == nil || g.closed {
		return 0, ErrNoLease
	}
	now := g.opts.now().UnixMilli()
	if behind := g.highest - now; behind > clockTolerance.Milliseconds() {
		return 0, fmt.Errorf("%w by %d ms", ErrClockBack, behind)
	}
	g.highest = max(g.highest, now)
	id := g.lease.node.Generate().Int64()
	at := Time(id).UnixMilli()
	if at > g.lease.mark {
		return 0, fmt.Errorf("%w: could not be renewed in time", ErrNoLease)
	}
	g.lease.last = at
	return id, nil
}

// Number returns the node number in use, or false where there is none.
func (g *Generator) Number() (int, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lease == nil || g.closed {
		return 0, false
	}
	return g.lease.number, true
}

// Close ends the generator and gives its number back, so that it may be taken
// again at once. Where ZooKeeper cannot be told before ctx ends, the number
// falls free with the connection's session, once the clock is past its mark.
func (g *Generator) Close(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.stop()
	select {
	case <-g.done:
	case <-ctx.Done():
		return fmt.Errorf("close id generator: %w", ctx.Err())
	}
	if g.lease == nil { // keep has ended: nobody else writes it
		return nil
	}
	if err := g.zk.release(ctx, g.lease); err != nil {
		return fmt.Errorf("close id generator: %w", err)
	}
	return nil
}
