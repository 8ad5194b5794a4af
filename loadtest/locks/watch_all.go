package locks

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zkclient"
)

// watchAll is the case study's lock of sequential nodes all of whose waiters watch their parent. Each release, and each
// arrival, wakes all waiters, which then list the queue. It is made to be measured: a request that fails ends the
// acquisition, and a holder does not notice the loss of its session. It is safe for concurrent use.
type watchAll struct {
	conn  *zk.Conn
	queue string // the parent node
	acl   []zk.ACL
	woken func() // called for each wake-up of a waiter
}

func newWatchAll(conn *zk.Conn, queue string, acl []zk.ACL, woken func()) (*watchAll, error) {
	return &watchAll{conn, queue, acl, woken}, makePath(conn, queue, acl)
}

// makePath makes the node and the missing ones above it.
func makePath(conn *zk.Conn, node string, acl []zk.ACL) error {
	return zkclient.MakePath(node, func(node string) error {
		_, err := conn.Create(node, nil, zk.FlagPersistent, acl)
		return err
	})
}

// acquire waits until the lock is held. If ctx ends first, it removes its node and returns ctx's cause.
func (w *watchAll) acquire(ctx context.Context) (releaseFunc, error) {
	node, err := w.conn.Create(w.queue+"/n-", nil, zk.FlagEphemeralSequential, w.acl)
	if err != nil {
		return nil, fmt.Errorf("join the queue: %w", err)
	}
	release := func(context.Context) error { return w.conn.Delete(node, -1) }
	if err := w.wait(ctx, path.Base(node)); err != nil {
		return nil, errors.Join(err, release(ctx))
	}
	return release, nil
}

// wait lists the queue, again after each of its changes, until the node is the first.
func (w *watchAll) wait(ctx context.Context, own string) error {
	for {
		names, _, changed, err := w.conn.ChildrenW(w.queue) // no change falls between the list and the watch (fault J)
		switch {
		case err != nil:
			return fmt.Errorf("list the queue: %w", err)
		case !slices.Contains(names, own):
			return fmt.Errorf("node %s is gone", own)
		case slices.Min(names) == own:
			return nil
		}
		select {
		case <-changed:
			w.woken()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
