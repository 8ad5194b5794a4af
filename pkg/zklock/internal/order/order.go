// Package order puts the sequential children of a ZooKeeper node in the order in which they were
// created.
//
// The number at the end of a child's name is the parent's counter. It tells the order until the
// counter reaches its end at 2147483647. From then on ZooKeeper (3.8) gives that number to each
// child, and negative ones to those that are created while the create before them is still under
// way. The transaction that created a child, its czxid, always tells the order.
package order

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"
)

// Node is a sequential child.
type Node struct {
	Name string
	Kind string // what its creator wants, as the name says it
	Seq  int32  // the number at the end of its name
	// Czxid is the transaction that created it, or 0 if Seq told the order without it.
	Czxid int64
}

const (
	// trusted is up to where numbers tell the order. The margin is for caution.
	trusted = math.MaxInt32 - 1024
	// readsAtOnce bounds the requests under way for one sort.
	readsAtOnce = 64
)

// Sort returns the nodes, which are children of one parent, in the order of their creation. Where
// their numbers do not tell it, it asks for the czxid of each, and leaves out those for which
// that returns zk.ErrNoNode. It reorders nodes.
func Sort(ctx context.Context, nodes []Node, czxid func(ctx context.Context, name string) (int64, error)) ([]Node, error) {
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Seq, b.Seq) })
	if numbered(nodes) {
		return nodes, nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for i := range nodes {
		n := &nodes[i]
		group.Go(func() (err error) {
			n.Czxid, err = czxid(ctx, n.Name)
			if errors.Is(err, zk.ErrNoNode) {
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	nodes = slices.DeleteFunc(nodes, func(n Node) bool { return n.Czxid == 0 })
	slices.SortFunc(nodes, func(a, b Node) int {
		// Nodes of one transaction have one czxid, and numbers that follow one another.
		return cmp.Or(cmp.Compare(a.Czxid, b.Czxid), cmp.Compare(a.Seq-b.Seq, 0), cmp.Compare(a.Name, b.Name))
	})
	return nodes, nil
}

// numbered reports whether the numbers of the nodes, which are sorted by them, tell the order.
func numbered(nodes []Node) bool {
	if len(nodes) == 0 {
		return true
	}
	if nodes[0].Seq < 0 || nodes[len(nodes)-1].Seq > trusted {
		return false
	}
	for i := 1; i < len(nodes); i++ {
		if nodes[i].Seq == nodes[i-1].Seq {
			return false
		}
	}
	return true
}
