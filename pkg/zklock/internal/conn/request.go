package conn

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"
)

// Do runs a request of the client library until ctx ends, as call does. Close waits for it. Do fails with ErrClosed
// after Close, and otherwise with the errors of package zk.
func Do[T any](ctx context.Context, c *Conn, request func() (T, error)) (T, error) {
	return call(ctx, c, request, nil)
}

// Children returns the names of a node's children.
func (c *Conn) Children(ctx context.Context, dir string) ([]string, error) {
	return Do(ctx, c, func() ([]string, error) {
		names, _, err := c.ZK.Children(dir)
		return names, err
	})
}

// Listing is a list of a node's children, and a watch on their next change. Any number of goroutines may wait for it.
type Listing struct {
	Names   []string      // of the children, once Wait has returned nil
	Changed chan struct{} // closed after their next change
	err     error
	read    chan struct{} // closed when Names and err are valid
}

// List begins to list a node's children. The watch stays until their next change, since the library cannot remove one.
func (c *Conn) List(dir string) *Listing {
	l := &Listing{Changed: make(chan struct{}), read: make(chan struct{})}
	begun := c.Go(func() {
		names, stat, events, err := c.ZK.ChildrenW(dir)
		l.Names, l.err = names, err
		close(l.read)
		if err == nil {
			c.next(dir, stat, events)
			close(l.Changed)
		}
	})
	if !begun {
		l.err = ErrClosed
		close(l.read)
	}
	return l
}

// Wait waits until the children are listed. If they are, it does not matter whether ctx has ended.
func (l *Listing) Wait(ctx context.Context) error {
	if !closed(l.read) {
		if err := Wait(ctx, l.read); err != nil {
			return err
		}
	}
	return l.err
}

// Outdated reports whether the request has failed, or the children have changed since.
func (l *Listing) Outdated() bool { return closed(l.Changed) || closed(l.read) && l.err != nil }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// makeParents creates the node dir and the missing ones above it, as containers: the server removes
// a container that has had children and has none any more, so that a lock for each order leaves no
// node behind. It returns the nodes that it has made, from the top down.
func (c *Conn) makeParents(dir string, acl []zk.ACL) (made []string, err error) {
	err = makePath(dir, func(dir string) error {
		_, err := c.ZK.CreateContainer(dir, nil, zk.FlagContainer, acl)
		if err == nil {
			made = append(made, dir)
		}
		return err
	})
	return made, err
}

// makePath makes the node dir and the missing ones above it, each by create. It does not look first, and a node that
// another client made is as good. If a parent is reaped in between, makePath returns nil, and the next create in dir
// fails with zk.ErrNoNode.
func makePath(dir string, create func(dir string) error) error {
	err := create(dir)
	if errors.Is(err, zk.ErrNoNode) && path.Dir(dir) != dir {
		if err := makePath(path.Dir(dir), create); err != nil {
			return err
		}
		err = create(dir)
	}
	if err != nil && !errors.Is(err, zk.ErrNodeExists) && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("make parent %s: %w", dir, err)
	}
	return nil
}
