package coordination

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/retry"
	"orderstock/pkg/zkclient"
	"orderstock/pkg/zklock"
)

// closeOpenNodes gives root and the nodes below it that are open to everybody the ACL of the session: they were made
// before Config.Auth was set, or by strangers. It tries until ctx ends, and logs the nodes that need attention.
// Processes without Config.Auth cannot use the nodes from then on.
//
// A node that somebody else has closed is logged and left: otherwise any stranger could keep the services from
// starting. Only the root itself must open. It calls note with each failure.
func closeOpenNodes(ctx context.Context, session *zklock.Session, cfg Config, note func(error)) error {
	return retry.Run(ctx, longPauses, func() error {
		c := closing{session: session, cfg: cfg}
		err := c.close(ctx, cfg.Root)
		if len(c.closed) > 0 {
			cfg.Log.Warn("closed nodes that were open to everybody", "nodes", c.closed)
		}
		if err != nil && ctx.Err() == nil {
			note(err)
			cfg.Log.Error("no use of ZooKeeper", "error", err.Error())
		}
		return err
	})
}

// closing is one walk over the nodes.
type closing struct {
	session *zklock.Session
	cfg     Config
	closed  []string // the nodes that were open, without the ephemeral ones
}

// close closes the node first, so that nobody can add children, and then its children.
func (c *closing) close(ctx context.Context, node string) error {
	children, err := zkclient.Call(ctx, func() ([]string, error) { return c.closeOne(node) })
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil
	case errors.Is(err, zk.ErrNoAuth) && node == c.cfg.Root:
		return fmt.Errorf("ZOOKEEPER_AUTH does not open %s: set the user and password that the services had, "+
			"or stop them and delete the node and all below it: %w", node, err)
	case errors.Is(err, zk.ErrNoAuth):
		c.cfg.Log.Error("ZOOKEEPER_AUTH does not open a node: no service made it with this user and password; delete it",
			"node", node)
		return nil
	case err != nil:
		return fmt.Errorf("close %s to strangers: %w", node, err)
	}
	for _, child := range children {
		if err := c.close(ctx, node+"/"+child); err != nil {
			return err
		}
	}
	return nil
}

// closeOne closes the node if it is open, and returns the names of those below it.
func (c *closing) closeOne(node string) (children []string, err error) {
	conn := c.session.Conn()
	acl, stat, err := conn.GetACL(node)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(acl, func(a zk.ACL) bool { return a.Scheme == "world" }) {
		if _, err := conn.SetACL(node, c.session.ACL(), -1); err != nil {
			return nil, err
		}
		if stat.EphemeralOwner != 0 {
			c.cfg.Log.Warn("a process without ZOOKEEPER_AUTH has a node: if all services have it now, delete the node",
				"node", node, "session", "0x"+strconv.FormatInt(stat.EphemeralOwner, 16))
		} else {
			c.closed = append(c.closed, node)
		}
	}
	if stat.EphemeralOwner != 0 {
		return nil, nil
	}
	children, _, err = conn.Children(node)
	return children, err
}
