package zklock

import (
	"context"
	"errors"
	"fmt"

	"orderstock/pkg/zklock/internal/conn"
)

// The errors that callers act on; match them with errors.Is.
var (
	// ErrNotAcquired says that another holder has the lock: TryAcquire found it taken, or the context
	// of an acquisition ended first. In the second case the error also matches the context's.
	ErrNotAcquired = errors.New("zklock: lock not acquired")

	// ErrNoAnswer says that the context of an acquisition ended while ZooKeeper had not answered, or had ended
	// before: nobody may have the lock. The error also matches the context's. From a release it says that ZooKeeper
	// has not answered for as long as the session lasted: the lock was held until then, and is given up.
	ErrNoAnswer = errors.New("zklock: ZooKeeper has not answered in time")

	// ErrLost says that the lock is no longer this holder's, for one of the three reasons that follow. They are for
	// people to read: a caller does the same in each case.
	ErrLost = conn.ErrLost

	// ErrExpired says that the servers have ended the session: for its timeout they had heard nothing from this
	// process, which was paused or cut off. It is an ErrLost.
	ErrExpired = conn.ErrExpired

	// ErrSilence says that this process has heard nothing for a session timeout, so that the session may be over:
	// ZooKeeper, or the network, is away. It is an ErrLost.
	ErrSilence = conn.ErrSilence

	// ErrDeleted says that somebody deleted the queue node. It is an ErrLost.
	ErrDeleted = fmt.Errorf("%w: lock node deleted by another", ErrLost)

	// ErrReleased says that this handle was released before. It is the cause of a released handle's
	// context, and the error of a second Release.
	ErrReleased = errors.New("zklock: lock released")

	// ErrSessionClosed says that Session.Close was called, or that the owner of a wrapped connection has closed it.
	ErrSessionClosed = conn.ErrClosed

	// ErrUsedUp says that ZooKeeper has no more numbers for the children of the lock's node; see Limits in the package's
	// documentation.
	ErrUsedUp = errors.New("zklock: the numbers of the path's children are used up, after 2^31 acquisitions: " +
		"ZooKeeper begins again at 0 when the path's node is removed, as it is when nobody has used the lock for a minute")

	// ErrQuota says that a quota of ZooKeeper forbids another node on the path.
	ErrQuota = errors.New("zklock: ZooKeeper's quota exceeded")

	// ErrNoOwner says that a ReentrantMutex was given a context without an owner. See WithOwner.
	ErrNoOwner = errors.New("zklock: no owner in the context")

	// ErrLeaseCount says that a Semaphore has a different number of leases than the one in use on its path.
	ErrLeaseCount = errors.New("zklock: semaphore with a different number of leases")
)

// notAcquired returns an error that is ErrNotAcquired and the cause of ctx's end.
func notAcquired(ctx context.Context) error {
	return fmt.Errorf("%w: %w", ErrNotAcquired, context.Cause(ctx))
}

// ended returns the error of an acquisition that asks nothing, since ctx had ended before.
func ended(ctx context.Context, path string) error {
	err := context.Cause(ctx)
	if !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return fmt.Errorf("acquire %s: not asked: %w: %w", path, ErrNoAnswer, err)
}

// acquireError adds the lock's path to err. If ctx has ended, and it is not known that another holder has the
// lock, it adds ErrNoAnswer, and why there is no connection.
func (s *Session) acquireError(ctx context.Context, path string, err error) error {
	if err == nil {
		return nil
	}
	err = conn.Explained(err)
	if ctx.Err() != nil && !errors.Is(err, ErrSessionClosed) {
		if !errors.Is(err, ctx.Err()) {
			err = fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		if !errors.Is(err, ErrNotAcquired) {
			err = fmt.Errorf("%w: %w", ErrNoAnswer, err)
			if trouble := s.conn.Trouble(); trouble != nil {
				err = fmt.Errorf("%w: %w", err, trouble)
			}
			if errors.Is(err, context.DeadlineExceeded) && s.unanswered.Take() {
				s.conn.Log.Warn("zookeeper has not answered", "lock", path, "cause", err)
			}
		}
	}
	if conn.OverQuota(err) {
		err = fmt.Errorf("%w: %w", ErrQuota, err)
	}
	return fmt.Errorf("acquire %s: %w", path, err)
}
