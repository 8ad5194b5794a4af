package coordination

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/bwmarrin/snowflake"

	"orderstock/pkg/zklock"
)

// The errors of IDs.
var (
	// ErrNoLease means that there is currently no node number. It wraps the reason, if there is one.
	ErrNoLease = errors.New("no leased node number for ids")
	// ErrClockBack means that the clock is behind the time of ids that may exist.
	ErrClockBack = errors.New("clock stepped back")
	// ErrNoNumber means that every node number is in use, or was within the last four hours by a process that did not
	// give it back.
	ErrNoNumber = errors.New("no free node number")
)

// clockTolerance is how far the wall clock may be set without a new lease. Ids stay unique: within a lease their time
// follows the monotonic clock.
const clockTolerance = 100 * time.Millisecond

// numbers is the number of node numbers.
const numbers = 1024

// closeLimit bounds the call that gives a number back. If ZooKeeper does not answer, the clock has to pass the mark.
const closeLimit = 5 * time.Second

// reserve is how far a mark is moved ahead of the clock, so how long ids go on without ZooKeeper. The number of a
// process that was killed, or whose clock was set, stays unused for as long: 1,024 of those within it leave none.
const reserve = 4 * time.Hour

// IDs makes 64-bit ids that are unique among all replicas, and that rise with time: Twitter's snowflake (41 bits of
// milliseconds, 10 bits of node number, 12 bits of step, by bwmarrin/snowflake), with node numbers leased in ZooKeeper.
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
// So a mark ahead of the clock also shows which numbers are in use. Nothing of a number ends with a session.
//
// # Guarantees for callers
//
//   - Without ZooKeeper, and after the loss of the session, ids continue up to the mark, for four hours. Then Next
//     returns ErrNoLease. In the background the mark is moved on, or another number is leased if this one is another
//     process's by then.
//   - If the wall clock is set, forward or back, a number is leased again, so that ids follow it; until then, Next
//     returns an error. Numbers whose mark is ahead of the clock are skipped, also after a restart; if that leaves
//     none, the error is ErrClockBack if a mark is further ahead than its process's clock may move it, or ErrNoNumber.
//   - Ids of one process rise strictly, unless the clock is set back. Ids of several are ordered only as well as
//     their clocks agree.
type IDs struct {
	reserve time.Duration
	numbers int
	now     func() time.Time // the wall clock
	log     *slog.Logger
	stop    func()        // ends keep, and waits for it
	wake    chan struct{} // wakes keep once the lease was dropped

	registry registry // set by keep

	mu     sync.Mutex
	lease  *lease // nil while there is none
	failed error  // of the last try to lease
	closed bool
}

// LeaseIDs begins to lease a node number below the node name. Callers must Close the IDs before the session.
func (s *Session) LeaseIDs(ctx context.Context, name string) *IDs {
	i := &IDs{reserve: reserve, numbers: numbers, now: time.Now, log: s.cfg.Log, wake: make(chan struct{}, 1)}
	i.stop = s.begin(ctx, func(ctx context.Context, session *zklock.Session) {
		i.keep(ctx, newRegistry(session.Conn(), s.cfg.Root+"/"+name, session.ACL()))
	})
	return i
}

// timeShift is the number of bits below the time in an id. The library's ID.Time reads a variable that its NewNode
// writes: a data race.
const timeShift = 22

// FirstID returns the lowest id of a time.
func FirstID(at time.Time) int64 { return max(at.UnixMilli()-snowflake.Epoch, 0) << timeShift }

// Next returns an id, or ErrNoLease or ErrClockBack.
func (i *IDs) Next() (int64, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.usable(); err != nil {
		return 0, err
	}
	id := i.lease.node.Generate().Int64()
	at := id>>timeShift + snowflake.Epoch
	if at > i.lease.mark {
		return 0, errStale
	}
	i.lease.last = at
	return id, nil
}

// Ready returns nil if Next would return an id, and otherwise Next's error.
func (i *IDs) Ready(context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.usable()
}

var errStale = fmt.Errorf("%w: could not be renewed in time", ErrNoLease)

// usable returns nil if ids may be given now. The caller holds the mutex.
func (i *IDs) usable() error {
	switch {
	case i.closed || i.lease == nil && i.failed == nil:
		return ErrNoLease
	case i.lease == nil:
		return fmt.Errorf("%w: %w", ErrNoLease, i.failed)
	}
	if off := i.lease.drift(i.now); off != 0 {
		i.drop()
		if off < 0 {
			return fmt.Errorf("%w by %s", ErrClockBack, -off)
		}
		return fmt.Errorf("%w: the clock was set forward by %s", ErrNoLease, off)
	}
	if i.lease.clock() > i.lease.mark {
		return errStale
	}
	return nil
}

// drop ends the lease and wakes keep, which leases again at the current wall time. The caller holds the mutex.
func (i *IDs) drop() {
	i.lease = nil
	select {
	case i.wake <- struct{}{}:
	default:
	}
}

// Close gives the number back, so that another process can lease it at once. If ZooKeeper does not answer, the number
// becomes free when the clock is past the mark. Next fails from then on.
func (i *IDs) Close(ctx context.Context) error {
	i.mu.Lock()
	i.closed = true
	i.mu.Unlock()
	i.stop()
	if i.lease == nil { // keep has ended: nobody else writes it
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	return i.registry.release(ctx, i.lease)
}
