package zklock

import (
	"errors"

	"github.com/go-zookeeper/zk"
)

// What callers decide by, with errors.Is.
var (
	// ErrNotAcquired says that another one holds the lock: TryAcquire found it taken, or the
	// context of an acquisition ended first. In the second case the error is the context's too.
	ErrNotAcquired = errors.New("zklock: lock not acquired")

	// ErrLost says that the lock is no longer this holder's: the ZooKeeper session expired, or
	// may have by the local clock, or somebody deleted the lock's node.
	ErrLost = errors.New("zklock: lock lost")

	// ErrReleased says that this handle was released before. It is the cause of a released
	// handle's context, and what a second Release returns.
	ErrReleased = errors.New("zklock: lock released")

	// ErrSessionClosed says that Session.Close was called, or that the owner of the connection that
	// it wraps closed that.
	ErrSessionClosed = errors.New("zklock: session closed")

	// ErrNoOwner says that a ReentrantMutex was given a context without an owner. See WithOwner.
	ErrNoOwner = errors.New("zklock: no owner in the context")

	// ErrLeaseCount says that others hold leases of a Semaphore of another number on the same path.
	ErrLeaseCount = errors.New("zklock: semaphore of another number of leases")

	// ErrNoLeader says that nobody stands in an Election.
	ErrNoLeader = errors.New("zklock: no leader")
)

var (
	// errVanished says that a node of ours is gone, or is not of the session it was made in.
	errVanished = errors.New("zklock: node in the queue vanished")

	// errMoved says that an earlier node with our GUID has become our place in the queue.
	errMoved = errors.New("zklock: place in the queue moved")

	errSessionExpired = errors.New("ZooKeeper session expired")
	errSilence        = errors.New("nothing heard from ZooKeeper for a session timeout")
	errNodeDeleted    = errors.New("lock node deleted by another")
)

// disconnected says that err is the connection's trouble and not an answer: whether the request
// was carried out is unknown.
func disconnected(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionMoved)
}

// passing says that the same request may be answered after a reconnect or in the next session.
func passing(err error) bool {
	return disconnected(err) || errors.Is(err, zk.ErrNoServer) || errors.Is(err, zk.ErrSessionExpired)
}
