package conn

import (
	"context"
	"encoding/binary"
	"errors"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"
)

// The protocol's create is answered with the path alone, and create2, since ZooKeeper 3.5, with the new
// node's Stat behind it. The client library knows create only, and reads no further than the path. So
// monitoredConn makes a create2 of each create that the Monitor expects, and reads the Stat itself.
const (
	opCreate  = 1
	opCreate2 = 15
	// statBytes is the length of a Stat, at the end of an answer.
	statBytes = 4*8 + 3*4 + 8 + 2*4 + 8
)

// Created is a node that was created.
type Created struct {
	Path string
	// Czxid is the transaction that created the node, and Session the clock of the session that it belongs to. They
	// are 0 and nil if the server did not say.
	Czxid   int64
	Session *Clock
	// Over identifies the TCP connection of the answer. Two nodes with the same Over were created without a break in
	// between. In a break, the servers could have been set back to an older state: then numbers and transactions count
	// on from there, and prove nothing about those who came before. It is for comparing, and nil with Session.
	Over any
	// Names are the children of its parent after it was created; nil if they are not known.
	Names []string
}

// CreateInLine creates an ephemeral sequential node, and the parents that are missing. It lists the children of its
// parent, unless alone is nil or says that the node is the only one. late gets the outcome if ctx ends first; if it is
// nil, CreateInLine waits longer than ctx. Two calls with one prefix must not overlap.
//
// The server never removes a container that has not had a child. So CreateInLine goes on when ctx has ended, and
// removes the parents that it has made if it can make no child.
func (c *Conn) CreateInLine(
	ctx context.Context, prefix string, data []byte, acl []zk.ACL, alone func(Created) bool, late func(Created, error),
) (Created, error) {
	create := func() (Created, error) {
		var made []string
		for {
			created, err := c.create2(prefix, data, acl)
			if errors.Is(err, zk.ErrNoNode) {
				var more []string
				more, err = c.makeParents(path.Dir(prefix), acl)
				if made = append(made, more...); err == nil {
					continue // one may have been removed since
				}
			}
			if err != nil {
				c.unmake(made)
				return Created{}, err
			}
			if list := alone != nil && ctx.Err() == nil; list && alone(created) {
				created.Names = []string{path.Base(created.Path)}
			} else if list {
				created.Names, _, _ = c.ZK.Children(path.Dir(created.Path)) // nil if it fails
			}
			return created, nil
		}
	}
	if late == nil {
		return create()
	}
	return call(ctx, c, create, late)
}

// create2 creates an ephemeral sequential node.
func (c *Conn) create2(prefix string, data []byte, acl []zk.ACL) (Created, error) {
	made := &Created{}
	c.monitor.creations.Store(prefix, made)
	defer c.monitor.creations.Delete(prefix)
	node, err := c.ZK.Create(prefix, data, zk.FlagEphemeralSequential, acl)
	if err != nil {
		return Created{}, err
	}
	made.Path = node
	return *made, nil
}

// unmake deletes nodes that makeParents has made, unless they have children by now.
func (c *Conn) unmake(made []string) {
	if len(made) == 0 {
		return
	}
	c.Go(func() {
		for _, node := range slices.Backward(made) { // the last one is the deepest
			_ = Retry(c.ctx, func() error { // best effort: another may use it, or have removed it
				if _, err := c.Ready(c.ctx); err != nil {
					return err
				}
				return c.ZK.Delete(node, -1)
			})
		}
	})
}

// expected returns what becomes of a create request that is expected, or nil.
func (m *Monitor) expected(request []byte) *Created {
	const at = requestHeader + 4 // of the path, after its length
	if len(request) < at {
		return nil
	}
	length := uint64(binary.BigEndian.Uint32(request[requestHeader:]))
	if uint64(len(request)) < at+length {
		return nil
	}
	made, _ := m.creations.Load(string(request[at : at+length]))
	found, _ := made.(*Created)
	return found
}

// answered reads the body of the answer to a create2, the path and the Stat, all but the path.
func (made *Created) answered(body []byte, over *monitoredConn) {
	if len(body) < statBytes {
		return
	}
	stat := body[len(body)-statBytes:]
	owner := int64(binary.BigEndian.Uint64(stat[4*8+3*4:]))
	if owner == over.clock.ID { // otherwise it is no Stat as this package knows it
		made.Czxid, made.Session, made.Over = int64(binary.BigEndian.Uint64(stat)), over.clock, over
	}
}
