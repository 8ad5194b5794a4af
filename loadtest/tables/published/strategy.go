package published

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/operation"
	"orderstock/stock-service/deduct"
)

type strategy struct {
	*deduct.UnderLocks
	conn *zk.Conn
}

// NewStrategy returns a strategy that takes this lock for each product. Callers must Close it.
func NewStrategy(cfg deduct.Config, faults ...Fault) (deduct.Strategy, error) {
	conn, _, err := zk.Connect(cfg.ZooKeeper, cfg.SessionTimeout, zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("connect to zookeeper: %w", err)
	}
	return strategy{deduct.NewUnderLocks(cfg, deduct.EachProduct(func(
		ctx context.Context, goodsID int64,
	) (deduct.Lock, error) {
		held, err := New(conn, cfg.Root+"/stock/"+operation.FormatGoodsID(goodsID), faults...).Acquire(ctx)
		if err != nil {
			return deduct.Lock{}, err
		}
		var token operation.Token
		binary.BigEndian.PutUint64(token[:], uint64(held.Czxid))
		return deduct.Lock{Token: token, Release: held.Release}, nil
	})), conn}, nil
}

// Ready implements deduct.Strategy.
func (s strategy) Ready(context.Context) error {
	if s.conn.State() != zk.StateHasSession {
		return errors.New("no zookeeper session")
	}
	return nil
}

// Close implements deduct.Strategy.
func (s strategy) Close() error {
	s.conn.Close()
	return nil
}
