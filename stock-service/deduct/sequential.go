package deduct

import (
	"context"

	"orderstock/pkg/operation"
	"orderstock/pkg/zklock"
)

// sequential takes a ZooKeeper mutex for each goods: orders for different
// goods do not wait for each other, and those for one go first come, first
// served. Each acquisition takes its own place in ZooKeeper's queue.
type sequential struct {
	locked
	*zkSession
}

func newSequential(cfg Config) (Strategy, error) {
	s := &sequential{zkSession: openSession(cfg)}
	s.locked = locked{keeper{cfg.LockTimeout, cfg.Log, cfg.WrapLock}, cfg.Ledger, func(ctx context.Context, goodsID int64) (Lock, error) {
		return s.acquire(ctx, cfg.Root+"/stock/"+operation.FormatGoodsID(goodsID), zklock.WithHandoff(1, 0))
	}}
	return s, nil
}
