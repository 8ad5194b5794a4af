package deduct

import (
	"context"

	"orderstock/pkg/operation"
	"orderstock/pkg/zklock/herd"
	"orderstock/stock-service/stock"
)

// singleNode takes the case study's "low" lock for each goods: one node that
// everyone tries to create and everyone else watches, so that each release
// wakes all who wait.
type singleNode struct {
	locked
	*zkSession
}

func newSingleNode(cfg Config) (Strategy, error) {
	s := &singleNode{zkSession: openSession(cfg)}
	s.locked = locked{keeper{cfg.LockTimeout, cfg.Log, cfg.WrapLock}, cfg.Ledger, func(ctx context.Context, goodsID int64) (Lock, error) {
		session, err := s.get(ctx)
		if err != nil {
			return Lock{}, err
		}
		lock, err := herd.NewSingleNode(session, cfg.Root+"/single-node/"+operation.FormatGoodsID(goodsID)).Acquire(ctx)
		if err != nil {
			return Lock{}, err
		}
		return Lock{Token: stock.Token(lock.Token().Bytes()), Alive: lock.Context(), Release: lock.Release}, nil
	}}
	return s, nil
}
