package compared

import (
	"context"

	"orderstock/pkg/herd"
	"orderstock/pkg/operation"
	"orderstock/stock-service/deduct"
)

// singleNode takes the case study's "low" lock for each product: one node that all waiters try to create and watch, so
// that each release wakes all of them.
type singleNode struct {
	*deduct.UnderLocks
	*deduct.Session
}

func newSingleNode(cfg Config) deduct.Strategy {
	session := deduct.OpenSession(cfg.Config)
	acquire := func(ctx context.Context, goodsID int64) (deduct.Lock, error) {
		s, err := session.Get(ctx)
		if err != nil {
			return deduct.Lock{}, err
		}
		lock, err := herd.NewSingleNode(s, cfg.Root+"/single-node/"+operation.FormatGoodsID(goodsID)).Acquire(ctx)
		if err != nil {
			return deduct.Lock{}, err
		}
		return deduct.HeldLock(lock), nil
	}
	return singleNode{deduct.NewUnderLocks(cfg.Config, deduct.EachProduct(acquire)), session}
}
