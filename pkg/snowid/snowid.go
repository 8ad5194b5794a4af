// Package snowid generates 64-bit ids that are unique among all processes that share a ZooKeeper path, and that rise
// with time: Twitter's snowflake (41 bits of milliseconds, 10 bits of node number, 12 bits of step, by
// bwmarrin/snowflake), with node numbers leased in ZooKeeper.
//
// # Why ids are unique
//
// Each of the 1024 numbers has a persistent mark: an upper bound of the times of its ids. A process takes a number only
// if its own clock is past the mark, moves the mark ahead of its clock by a version-checked write, and generates only
// ids whose time lies below the mark; it moves the mark on in time. The next holder of the number starts above that
// mark, and its write makes every later write of the former holder fail. So two holders of one number cannot generate
// the same id: not if their clocks disagree, not after a long pause, and not if a session expired unnoticed. (The idea
// is the reserved timestamp range of Google Percolator's timestamp oracle.)
//
// The ephemeral claim node next to the mark only shows which numbers are in use, so that replicas do not take each
// other's.
//
// # Guarantees for callers
//
//   - Without ZooKeeper, and after the loss of the session, ids continue up to the mark, for about the reserve (10 s
//     by default). Then Next returns ErrNoLease. The generator leases again in the background, under another number
//     if need be.
//   - If the wall clock is set, forward or back, the generator leases again, so that ids follow it; until it has,
//     Next returns an error. It skips numbers whose mark is ahead of the clock, also after a restart; if that leaves
//     none, it fails with ErrClockBack.
//   - Ids of one generator rise strictly, unless the clock is set back. Ids of several generators are ordered only
//     as well as their clocks agree.
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

// Numbers is the number of node numbers.
const Numbers = 1024

type options struct {
	reserve time.Duration
	numbers int
	acl     []zk.ACL
	now     func() time.Time
}

// Option changes how Lease works.
type Option func(*options)

// WithReserve sets how far the mark is moved ahead of the clock. A generator generates ids for that long without
// ZooKeeper, and the number of a dead one stays unused for that long. At least 100 ms. Default: 10 s.
func WithReserve(d time.Duration) Option {
	return func(o *options) { o.reserve = max(d, 100*time.Millisecond) }
}

// WithACL sets the ACL of the nodes. Default: open to everybody.
func WithACL(acl []zk.ACL) Option {
	return func(o *options) { o.acl = acl }
}
