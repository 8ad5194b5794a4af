package deduct

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"orderstock/pkg/operation"

	"github.com/go-zookeeper/zk"
)

// zkLock takes the lock of the ZooKeeper client library for each goods. It
// cannot be given up while it waits, cannot tell that it was lost, and has no
// fencing token.
type zkLock struct {
	locked
	conn     *zk.Conn
	drained  chan struct{}
	givenUp  sync.WaitGroup // waits that went on after their caller had left
	rootPath string
}

func newZKLock(cfg Config) (Strategy, error) {
	conn, events, err := zk.Connect(cfg.ZooKeeper, cfg.SessionTimeout, zk.WithLogger(silent{}))
	if err != nil {
		return nil, fmt.Errorf("connect to zookeeper: %w", err)
	}
	s := &zkLock{conn: conn, drained: make(chan struct{}), rootPath: cfg.Root + "/zk-lock/"}
	go func() { // ends with the connection
		defer close(s.drained)
		for range events { // nobody needs them, but the library would drop some of a full channel
		}
	}()
	s.locked = locked{keeper{cfg.LockTimeout, cfg.Log, cfg.WrapLock}, cfg.Ledger, s.acquireGoods}
	return s, nil
}

func (s *zkLock) acquireGoods(ctx context.Context, goodsID int64) (Lock, error) {
	lock := zk.NewLock(s.conn, s.rootPath+operation.FormatGoodsID(goodsID), zk.WorldACL(zk.PermAll))
	got := make(chan error, 1)
	s.givenUp.Go(func() { got <- lock.Lock() })
	select {
	case err := <-got:
		if err != nil {
			return Lock{}, err
		}
		return Lock{Release: func(context.Context) error { return lock.Unlock() }}, nil
	case <-ctx.Done():
	}
	s.givenUp.Go(func() {
		if <-got == nil {
			_ = lock.Unlock() // what fails here ends with the session
		}
	})
	return Lock{}, ctx.Err()
}

// Ready implements Strategy.
func (s *zkLock) Ready(context.Context) error {
	if s.conn.State() != zk.StateHasSession {
		return errors.New("no zookeeper session")
	}
	return nil
}

// Close implements Strategy.
func (s *zkLock) Close() error {
	s.conn.Close()
	<-s.drained
	s.givenUp.Wait()
	return nil
}

type silent struct{}

func (silent) Printf(string, ...any) {}
