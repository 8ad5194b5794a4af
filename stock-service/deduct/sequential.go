package deduct

import (
	"context"

	"orderstock/pkg/operation"
	"orderstock/pkg/zklock"
)

// sequential takes a ZooKeeper mutex for each product. Operations on different products do not wait for each other;
// operations on one product are served in order of arrival. Each acquisition has its own place in ZooKeeper's queue.
type sequential struct {
	*Locked
	*Session
}

func newSequential(cfg Config) Strategy {
	session := OpenSession(cfg)
	return sequential{NewLocked(cfg, EachProduct(func(ctx context.Context, goodsID int64) (Lock, error) {
		return session.Acquire(ctx, cfg.Root+"/stock/"+operation.FormatGoodsID(goodsID), zklock.WithHandoff(1, 0))
	})), session}
}
