package locks

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

const (
	zklockLock    = "zklock"
	noHandoffLock = "zklock-no-handoff"
	clientLock    = "zk.Lock"
	curatorLock   = "curator"
	singleLock    = "single-node"
	watchAllLock  = "watch-all"
	rawLock       = "raw"
)

// Names are all measurable locks, in the order of measurement. "raw" is no lock: it is a create and a delete.
var Names = []string{zklockLock, noHandoffLock, clientLock, curatorLock, singleLock, watchAllLock, rawLock}

const sessionTimeout = 30 * time.Second

type (
	releaseFunc func(context.Context) error
	acquireFunc func(context.Context) (releaseFunc, error)
)

// subject is one kind of lock on one connection, shared by all contenders of the process.
type subject struct {
	contender func(path string) (acquireFunc, error)
	wakeups   func() int64
	close     func() error
}

// connectClient measures the client library alone.
func (w Worker) connectClient() (*subject, error) {
	// Only waiters watch, one for each node, so each event of a deletion is one wake-up.
	var deletions atomic.Int64
	count := func(ev zk.Event) {
		if ev.Type == zk.EventNodeDeleted {
			deletions.Add(1)
		}
	}
	conn, events, err := zk.Connect(w.Servers, sessionTimeout,
		zk.WithLogInfo(false), zk.WithEventCallback(count))
	if err != nil {
		return nil, err
	}
	acl := zk.WorldACL(zk.PermAll)
	s := &subject{
		wakeups: deletions.Load,
		close: func() error {
			conn.Close()
			for range events { // closed when the connection has ended
			}
			return nil
		},
	}
	s.contender = func(p string) (acquireFunc, error) {
		lock := zk.NewLock(conn, p, acl)
		return func(context.Context) (releaseFunc, error) {
			return func(context.Context) error { return lock.Unlock() }, lock.Lock()
		}, nil
	}
	if w.Lock == rawLock {
		s.contender = func(p string) (acquireFunc, error) {
			return func(context.Context) (releaseFunc, error) {
				node, err := conn.Create(p+"/raw-", nil, zk.FlagEphemeralSequential, acl)
				if err == nil {
					err = conn.Delete(node, -1)
				}
				return func(context.Context) error { return nil }, err
			}, makePath(conn, p, acl)
		}
	}
	return s, nil
}
