package deduct

import (
	"context"
	"fmt"

	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// grouped executes waiting operations together in one transaction, separately for each partition of the stock. A group
// of a partition has the products of that partition, and the partition's lock; transactions of different partitions run
// concurrently.
//
// Operations with products of several partitions form separate groups, which take the locks of all partitions that they
// touch.
type grouped struct {
	*Session
	partitions []*groups
	across     *groups
}

func newGrouped(cfg Config) Strategy {
	if cfg.Partitions <= 0 {
		cfg.Partitions = operation.Partitions
	}
	session, metrics := OpenSession(cfg), newGroupMetrics(cfg.Metrics)
	locker := newLocker(cfg)
	keepers := make([]*keeper, cfg.Partitions)
	for i := range keepers {
		keepers[i] = newKeeper(cfg, locker, session, i)
	}
	g := &grouped{Session: session, across: newGroups(cfg, metrics, keepers...)}
	more := func(k *keeper) bool {
		return g.across.calls.Waiting() > 0 || g.partitions[k.partition].calls.Waiting() > 0
	}
	g.across.more = more
	for _, k := range keepers {
		p := newGroups(cfg, metrics, k)
		p.more = more
		g.partitions = append(g.partitions, p)
	}
	return g
}

// PartitionPath returns the path of a partition's lock in ZooKeeper, below root.
func PartitionPath(root string, partition int) string {
	return fmt.Sprintf("%s/stock/partition-%02d", root, partition)
}

// Deduct implements stock.Deducter.
func (g *grouped) Deduct(ctx context.Context, r stock.Request) (operation.Operation, error) {
	if p, one := operation.PartitionOf(r.Items, len(g.partitions)); one {
		return g.partitions[p].deduct(ctx, r)
	}
	return g.across.deduct(ctx, r)
}

// Close implements Strategy.
func (g *grouped) Close() error {
	for _, p := range g.partitions {
		p.calls.Close()
	}
	g.across.calls.Close()
	return g.Session.Close()
}
