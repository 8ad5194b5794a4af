package snowid

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bwmarrin/snowflake"
	"github.com/go-zookeeper/zk"
)

var (
	// ErrNoLease means that the generator currently has no node number.
	ErrNoLease = errors.New("snowid: no leased node number")
	// ErrClockBack means that the clock is behind the time of ids that may exist.
	ErrClockBack = errors.New("snowid: clock stepped back")
	// ErrNoNumber means that every node number is in use.
	ErrNoNumber = errors.New("snowid: no free node number")
)

// clockTolerance is how far the wall clock may be set without a new lease. Ids stay unique: within a lease their time
// follows the monotonic clock.
const clockTolerance = 100 * time.Millisecond

// Generator makes ids under a leased node number. Make one with Lease. Its methods
// are safe for concurrent use.
type Generator struct {
	registry registry
	opts     options

	mu     sync.Mutex
	lease  *lease // nil while there is none
	closed bool

	stop context.CancelFunc
	wake chan struct{} // wakes keep once the lease was dropped
	done chan struct{}
}

// Lease takes a node number under root, a ZooKeeper path that all processes of one id space share, and returns a
// generator that keeps the number. It creates root if it is missing. It tries until ctx ends, and then returns the last
// error: ErrNoNumber, ErrClockBack or the connection's.
//
// The caller owns the connection, which must outlive the generator.
func Lease(ctx context.Context, conn Conn, root string, opts ...Option) (*Generator, error) {
	o := options{reserve: 10 * time.Second, numbers: Numbers, acl: zk.WorldACL(zk.PermAll), now: time.Now}
	for _, opt := range opts {
		opt(&o)
	}
	g := &Generator{
		registry: newRegistry(conn, root, o.acl), opts: o,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if err := g.leaseAgain(ctx); err != nil {
		return nil, err
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	g.stop = stop
	go g.keep(work)
	return g, nil
}

// timeShift is the number of bits below the time in an id. The library's ID.Time reads a variable that its NewNode
// writes: a data race.
const timeShift = 22

// First returns the lowest id of a time.
func First(at time.Time) int64 { return max(at.UnixMilli()-snowflake.Epoch, 0) << timeShift }

// Next returns an id, or ErrNoLease or ErrClockBack.
func (g *Generator) Next() (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.usable(); err != nil {
		return 0, err
	}
	id := g.lease.node.Generate().Int64()
	at := id>>timeShift + snowflake.Epoch
	if at > g.lease.mark {
		return 0, errStale
	}
	g.lease.last = at
	return id, nil
}

// Ready returns nil if Next would return an id, and otherwise Next's error.
func (g *Generator) Ready() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.usable()
}

var errStale = fmt.Errorf("%w: could not be renewed in time", ErrNoLease)

// usable returns nil if ids may be given now. The caller holds the mutex.
func (g *Generator) usable() error {
	if g.lease == nil || g.closed {
		return ErrNoLease
	}
	if off := g.lease.drift(g.opts.now); off != 0 {
		g.drop()
		if off < 0 {
			return fmt.Errorf("%w by %s", ErrClockBack, -off)
		}
		return fmt.Errorf("%w: the clock was set forward by %s", ErrNoLease, off)
	}
	if g.lease.clock() > g.lease.mark {
		return errStale
	}
	return nil
}

// drop ends the lease and wakes keep, which leases again at the current wall time.
// The caller holds the mutex.
func (g *Generator) drop() {
	g.lease = nil
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// Number returns the node number in use, or false if there is none.
func (g *Generator) Number() (int, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lease == nil || g.closed {
		return 0, false
	}
	return g.lease.number, true
}

// Close ends the generator and releases its number, so that another generator may take it at once. If ZooKeeper does
// not answer before ctx ends, the number becomes free when the connection's session has ended and the clock is past the
// mark.
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
	if err := g.registry.release(ctx, g.lease); err != nil {
		return fmt.Errorf("close id generator: %w", err)
	}
	return nil
}
