package zklock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/go-zookeeper/zk"
)

// lastDowngrade is the greatest number of a writer's node that a reader's may take over: the numbers
// after it, a million, are left for those who queue while that reader holds the lock. Once one of
// them is near the end of the parent's counter, the order in the queue is that in which the nodes
// were created, and the reader's is younger than it looks.
const lastDowngrade = math.MaxInt32 - 1<<20

// Downgrade makes a reader of a writer who holds this lock, and returns the reader's handle. No
// other writer has the lock between the two, and the readers that wait before the next writer get
// their share. The writer's handle is released by this; if Downgrade fails, the lock is not the
// caller's any more, and its nodes are removed as by Lock.Release, whose errors these are.
//
// It refuses a handle that is not a writer's of this lock, and one near the end of the parent's
// counter, at 2^31 - 2^20 acquisitions, and leaves it as it is: release it and call RLock.
//
// The reader's node takes the writer's number, by a transaction that removes the one and makes the
// other.
func (m *RWMutex) Downgrade(ctx context.Context, writer *Lock) (*Lock, error) {
	reader, err := m.downgrade(ctx, writer)
	if err != nil {
		return nil, fmt.Errorf("downgrade %s: %w", m.path, err)
	}
	return reader, nil
}

func (m *RWMutex) downgrade(ctx context.Context, writer *Lock) (*Lock, error) {
	if writer.path != m.path || len(writer.claims) != 1 || writer.claims[0].s != m.s {
		return nil, errors.New("the handle is another lock's")
	}
	c := writer.claims[0]
	place, ok := parseMember(c.name(), kindWrite)
	switch {
	case !ok:
		return nil, errors.New("the handle is not a writer's")
	case place.Seq < 0 || place.Seq > lastDowngrade:
		return nil, fmt.Errorf("number %d is near the end of the parent's counter: release the lock and call RLock", place.Seq)
	}
	var reader *claim
	err := writer.finish(ctx, func(ctx context.Context) (err error) {
		reader, err = c.exchange(ctx, kindRead, place.Name[strings.LastIndex(place.Name, kindWrite)+len(kindWrite):])
		return err
	})
	if err != nil {
		return nil, err
	}
	return reader.lock(ctx, m.path), nil
}

// exchange puts a node of another kind into the claim's place in the queue. When it fails, both are
// being removed.
func (c *claim) exchange(ctx context.Context, k kind, number string) (*claim, error) {
	if lost := context.Cause(c.ctx); lost != nil {
		c.drop()
		return nil, lost
	}
	c.end()
	n := &node{s: c.s, dir: c.dir, guid: newGUID(), acl: c.acl, data: c.data, hooks: c.hooks, doubtful: true}
	n.path = c.dir + "/" + protection(n.guid) + k + number
	err := n.replace(ctx, c)
	var next *claim
	if err == nil {
		next, err = n.takeOver(ctx, c)
	}
	if err != nil {
		c.discard()
		n.s.sweep(n.orphan())
		return nil, err
	}
	n.doubtful = false // there is one node with this name
	return next, nil
}

// replace makes the node in the transaction that removes the claim's. If an earlier try was carried
// out, it finds that node gone.
func (n *node) replace(ctx context.Context, c *claim) error {
	for pause := (retryPause{}); ; {
		_, err := call(ctx, n.s, func() ([]zk.MultiResponse, error) {
			return n.s.conn.Multi(
				&zk.DeleteRequest{Path: c.path, Version: -1},
				&zk.CreateRequest{Path: n.path, Data: n.data, Acl: n.acl, Flags: zk.FlagEphemeral})
		}, nil)
		if err == nil || errors.Is(err, zk.ErrNoNode) {
			n.adopt(n.path)
			n.s.mu.Lock()
			delete(n.s.nodes, c.path)
			n.s.mu.Unlock()
			return nil
		}
		if !passing(err) {
			return err
		}
		if err := pause.wait(ctx, n.s); err != nil {
			return err
		}
		if _, err := n.s.ready(ctx); err != nil {
			return err
		}
	}
}

// takeOver makes the node's claim, if the node is there and the session still that of c.
func (n *node) takeOver(ctx context.Context, c *claim) (*claim, error) {
	for pause := (retryPause{}); ; {
		own := n.s.watch(n.path)
		err := own.wait(ctx, n.s)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return nil, fmt.Errorf("%w: %w", ErrLost, errNodeDeleted)
		case err == nil && (own.stat.EphemeralOwner != c.term.lease.id || !c.term.alive()):
			return nil, fmt.Errorf("%w: %w", ErrLost, errSessionExpired)
		case err == nil:
			next, err := n.claim(c.term, own, 0)
			if errors.Is(err, errVanished) {
				err = fmt.Errorf("%w: %w", ErrLost, errSessionExpired)
			}
			return next, err
		case !passing(err):
			return nil, err
		}
		if err := pause.wait(ctx, n.s); err != nil {
			return nil, err
		}
	}
}
