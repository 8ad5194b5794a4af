package snowid

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bwmarrin/snowflake"
)

var (
	// ErrNoLease means that there is no node number to give ids under at present.
	ErrNoLease = errors.New("snowid: no leased node number")
	// ErrClockBack means that the clock stands before a time at which ids may have been given.
	ErrClockBack = errors.New("snowid: clock stepped back")
	// ErrNoNumber means that every node number is in use.
	ErrNoNumber = errors.New("snowid: no free node number")
)

// clockTolerance is how far the wall clock may be set without a new lease. Ids do
// not suffer from it: within a lease their time runs by the monotonic clock.
const clockTolerance = 100 * time.Millisecond

// Generator gives ids under a leased node number. Safe for concurrent use;
// make one with Lease.
type Generator struct {
	zk   keeper
	opts options

	mu     sync.Mutex
	lease  *lease // nil where there is none
	closed bool

	stop context.CancelFunc
	wake chan struct{} // tells keep that the lease was dropped
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
	g := &Generator{zk: newKeeper(conn, root), opts: o, wake: make(chan struct{}, 1), done: make(chan struct{})}
	if err := g.leaseAgain(ctx); err != nil {
		return nil, err
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	g.stop = stop
	go g.keep(work)
	return g, nil
}

// timeShift is how many bits of an id lie below its time. The library's own
// ID.Time reads a variable that its NewNode writes: a data race.
const timeShift = 22

// Next returns an id, or ErrNoLease or ErrClockBack.
func (g *Generator) Next() (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lease == nil || g.closed {
		return 0, ErrNoLease
	}
	if off := g.lease.parted(g.opts.now); off != 0 {
		g.drop()
		if off < 0 {
			return 0, fmt.Errorf("%w by %s", ErrClockBack, -off)
		}
		return 0, fmt.Errorf("%w: the clock was set forth by %s", ErrNoLease, off)
	}
	id := g.lease.node.Generate().Int64()
	at := id>>timeShift + snowflake.Epoch
	if at > g.lease.mark {
		return 0, fmt.Errorf("%w: could not be renewed in time", ErrNoLease)
	}
	g.lease.last = at
	return id, nil
}

// drop gives the lease up and lets keep take another, by the clock as it stands
// now. The caller holds the mutex.
func (g *Generator) drop() {
	g.lease = nil
	select {
	case g.wake <- struct{}{}:
	default:
	}
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
