package herd

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

// Queue is the case study's lock of sequential nodes all of whose waiters watch the path. Each release, and each
// arrival, wakes all waiters, which then list the queue.
type Queue struct {
	// Woken is called for each watch event that wakes a waiter of this value, by many at once. It may be nil.
	Woken func()

	s    *zklock.Session
	path string
}

// NewQueue returns a lock on path, whose node holds the queue.
func NewQueue(s *zklock.Session, path string) *Queue { return &Queue{s: s, path: path} }

// Acquire waits until the lock is held; see SingleNode.Acquire.
func (q *Queue) Acquire(ctx context.Context) (*Lock, error) {
	guid := rand.Text() // finds the node again if its create was not answered
	remove := func(ctx context.Context, l *Lock) error {
		_, err := ask(ctx, l, func(c *zk.Conn) (struct{}, error) {
			names, _, err := c.Children(q.path)
			for _, name := range names {
				if err == nil && strings.HasPrefix(name, guid) {
					err = c.Delete(q.path+"/"+name, -1)
				}
			}
			return struct{}{}, err
		})
		return err
	}
	return acquire(ctx, q.s, q.path, remove, func(ctx context.Context, l *Lock) (string, error) {
		return q.take(ctx, l, guid)
	})
}

// take makes a node in the queue, and lists the queue until nobody is before it.
func (q *Queue) take(ctx context.Context, l *Lock, guid string) (node string, err error) {
	tried := false
	name, err := ask(ctx, l, func(c *zk.Conn) (string, error) {
		if tried {
			names, _, err := c.Children(q.path)
			for _, name := range names {
				if strings.HasPrefix(name, guid) {
					return name, nil
				}
			}
			if err != nil && !errors.Is(err, zk.ErrNoNode) {
				return "", err
			}
		}
		tried = true
		acl := q.s.ACL()
		node, err := c.Create(q.path+"/"+guid+"-", nil, zk.FlagEphemeralSequential, acl)
		if errors.Is(err, zk.ErrNoNode) {
			err = makeParent(c, q.path+"/"+guid, acl)
		}
		return strings.TrimPrefix(node, q.path+"/"), err
	})
	if err != nil {
		return "", err
	}
	type queue struct {
		names   []string
		changed <-chan zk.Event
	}
	for {
		now, err := ask(ctx, l, func(c *zk.Conn) (now queue, err error) {
			now.names, _, now.changed, err = c.ChildrenW(q.path)
			return now, err
		})
		switch {
		case err != nil:
			return "", err
		case first(now.names, name):
			return q.path + "/" + name, nil // hold fails if the node is gone
		}
		select {
		case <-now.changed:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		if q.Woken != nil {
			q.Woken()
		}
	}
}

// first reports whether nobody in the queue is before the node.
func first(names []string, own string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return number(name) < number(own) })
}

// number returns the digits that the server has added to a name. All have the same length.
func number(name string) string { return name[max(0, len(name)-10):] }
