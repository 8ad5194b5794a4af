package queue

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"orderstock/pkg/zklock/internal/conn"
)

const (
	// trusted is the greatest number that gives the order. The margin is for caution.
	trusted = math.MaxInt32 - 1024
	// readsAtOnce bounds the requests under way for one sort.
	readsAtOnce = 64
)

// Ordered returns the members of the given kinds among the children of dir, in order. It asks
// ZooKeeper only if the names do not give the order.
func Ordered(ctx context.Context, c *conn.Conn, dir string, names []string, kinds ...Kind) ([]Member, error) {
	return Sort(ctx, Members(names, kinds...), func(ctx context.Context, name string) (int64, error) {
		node, err := c.Get(ctx, dir+"/"+name)
		return node.Stat.Czxid, err
	})
}

// Sort returns the members, which are children of one parent, in the order of their creation.
//
// Their numbers are the parent's counter, and give the order until the counter reaches its end at
// 2147483647. From then on ZooKeeper 3.8 gives that number to each child, and negative numbers to
// children created while the create before them is still under way. Then Sort asks for the czxid of
// each, which always gives the order, and leaves out members for which czxid returns zk.ErrNoNode.
//
// Sort reorders members.
func Sort(
	ctx context.Context, members []Member, czxid func(ctx context.Context, name string) (int64, error),
) ([]Member, error) {
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.Seq, b.Seq) })
	if numbered(members) {
		return members, nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for i := range members {
		m := &members[i]
		group.Go(func() (err error) {
			m.Czxid, err = czxid(ctx, m.Name)
			if errors.Is(err, zk.ErrNoNode) {
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	members = slices.DeleteFunc(members, func(m Member) bool { return m.Czxid == 0 })
	slices.SortFunc(members, func(a, b Member) int {
		// Nodes of one transaction have one czxid, and consecutive numbers.
		return cmp.Or(cmp.Compare(a.Czxid, b.Czxid), cmp.Compare(a.Seq-b.Seq, 0), cmp.Compare(a.Name, b.Name))
	})
	return members, nil
}

// numbered reports whether the numbers of members, which are sorted by them, give the order.
func numbered(members []Member) bool {
	if len(members) == 0 {
		return true
	}
	if members[0].Seq < 0 || members[len(members)-1].Seq > trusted {
		return false
	}
	for i := 1; i < len(members); i++ {
		if members[i].Seq == members[i-1].Seq {
			return false
		}
	}
	return true
}

// Rule returns the predecessor of the member at the given index: the one that it waits for, nil if
// it waits for none. A waiter applies the rule again each time that its predecessor is gone, which
// may have been a waiter that gave up.
type Rule func(members []Member, at int) (predecessor *Member)

// InTurn is the rule of a mutex: first come, first served.
func InTurn(members []Member, at int) *Member {
	if at == 0 {
		return nil
	}
	return &members[at-1]
}

// AfterLast returns the rule of a reader: it waits for the last node of the writers' kind before it,
// and never for one that came later.
func AfterLast(writers Kind) Rule {
	return func(members []Member, at int) *Member {
		for at--; at >= 0; at-- {
			if members[at].Kind == writers {
				return &members[at]
			}
		}
		return nil
	}
}
