// Package zkclient completes the ZooKeeper client library for the packages of this project. Package zklock has its own
// way: its folder imports no other package.
package zkclient

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"
)

// Call runs a request of the client library, which takes no context, until ctx ends, and then returns ctx's cause. The
// request is sent even if ctx has ended before. One that is left behind goes on until it is answered or its connection
// ends.
func Call[T any](ctx context.Context, request func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := request()
		answers <- answer{value, err}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// MakePath makes the node dir and the missing ones above it, each by create, which should return the client library's
// error. Any number of clients may do this at once.
func MakePath(dir string, create func(dir string) error) error {
	err := create(dir)
	if errors.Is(err, zk.ErrNoNode) && path.Dir(dir) != dir {
		if err := MakePath(path.Dir(dir), create); err != nil {
			return err
		}
		err = create(dir)
	}
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return fmt.Errorf("make node %s: %w", dir, err)
	}
	return nil
}
