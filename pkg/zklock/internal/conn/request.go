package conn

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"
)

// Do runs a request of the client library until ctx ends, as Call does. Close waits for it. Do fails with ErrClosed
// after Close, and otherwise with the errors of package zk.
func Do[T any](ctx context.Context, c *Conn, request func() (T, error)) (T, error) {
	return call(ctx, c.Go, request, nil)
}

// Children returns the names of a node's children.
func (c *Conn) Children(ctx context.Context, dir string) ([]string, error) {
	return Do(ctx, c, func() ([]string, error) {
		names, _, err := c.ZK.Children(dir)
		return names, err
	})
}

// Listing is what ChildrenW reads.
type Listing struct {
	Names   []string        // of the children
	Changed <-chan zk.Event // receives their next change
}

// ChildrenW lists a node's children, with a watch on their next change. A watch that is left behind ends
// with that change.
func (c *Conn) ChildrenW(ctx context.Context, dir string) (Listing, error) {
	return Do(ctx, c, func() (Listing, error) {
		names, _, events, err := c.ZK.ChildrenW(dir)
		return Listing{names, events}, err
	})
}

// makeParents creates the node dir and the missing ones above it, as containers: the server removes
// a container that has had children and has none any more, so that a lock for each order leaves no
// node behind. It returns the nodes that it has made, from the top down.
func (c *Conn) makeParents(dir string, acl []zk.ACL) (made []string, err error) {
	err = MakePath(dir, func(dir string) error {
		_, err := c.ZK.CreateContainer(dir, nil, zk.FlagContainer, acl)
		if err == nil {
			made = append(made, dir)
		}
		return err
	})
	return made, err
}

// MakePath is zklock.MakePath. It does not look first, and a node that another client made is as good. If a parent is
// reaped in between, MakePath returns nil, and the next create in dir fails with zk.ErrNoNode.
func MakePath(dir string, create func(dir string) error) error {
	err := create(dir)
	if errors.Is(err, zk.ErrNoNode) && path.Dir(dir) != dir {
		if err := MakePath(path.Dir(dir), create); err != nil {
			return err
		}
		err = create(dir)
	}
	if err != nil && !errors.Is(err, zk.ErrNodeExists) && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("make parent %s: %w", dir, err)
	}
	return nil
}
