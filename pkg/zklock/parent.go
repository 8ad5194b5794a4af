package zklock

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"
)

// makeParent makes the node dir and all above it that are missing, as containers, which the server
// removes when they have had children and have none any more: a lock for each order or each goods
// would leave a node for ever otherwise. Servers before 3.5 know no containers; there the nodes
// are persistent.
//
// Any number of clients may do this at once: it creates without asking first, and a node that
// another made meanwhile is as good.
func (s *Session) makeParent(ctx context.Context, dir string, acl []zk.ACL) error {
	err := s.makeNode(ctx, dir, acl)
	if errors.Is(err, zk.ErrNoNode) && path.Dir(dir) != dir {
		if err := s.makeParent(ctx, path.Dir(dir), acl); err != nil {
			return err
		}
		err = s.makeNode(ctx, dir, acl)
	}
	if errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrNoNode) {
		// In the second case the parent was reaped already. The caller finds out and comes back.
		return nil
	}
	if err != nil {
		return fmt.Errorf("make parent %s: %w", dir, err)
	}
	return nil
}

func (s *Session) makeNode(ctx context.Context, dir string, acl []zk.ACL) error {
	_, err := call(ctx, s, func() (string, error) {
		return s.conn.CreateContainer(dir, nil, zk.FlagContainer, acl)
	}, nil)
	switch {
	case err == nil, errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrNoNode),
		errors.Is(err, zk.ErrNoAuth), errors.Is(err, zk.ErrInvalidACL), errors.Is(err, zk.ErrInvalidPath),
		errors.Is(err, ErrSessionClosed), passing(err), ctx.Err() != nil:
		return err
	}
	// Anything else may be the answer of a server that knows no containers.
	_, err = call(ctx, s, func() (string, error) {
		return s.conn.Create(dir, nil, zk.FlagPersistent, acl)
	}, nil)
	return err
}
