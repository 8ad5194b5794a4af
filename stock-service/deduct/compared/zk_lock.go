package compared

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/operation"
	"orderstock/stock-service/deduct"
)

// zkLock takes the lock of the ZooKeeper client library for each product. A wait for that lock cannot be cancelled, its
// loss is not detected, and it has no fencing token.
type zkLock struct {
	*deduct.UnderLocks
	acl       []zk.ACL
	conn      *zk.Conn
	drained   chan struct{}
	abandoned sync.WaitGroup // waits that continued after their caller had left
	root      string
}

func newZKLock(cfg Config) (deduct.Strategy, error) {
	conn, events, err := zk.Connect(cfg.ZooKeeper, cfg.SessionTimeout, zk.WithLogger(silent{}))
	if err != nil {
		return nil, fmt.Errorf("connect to zookeeper: %w", err)
	}
	acl := zk.WorldACL(zk.PermAll)
	if cfg.Auth != "" {
		acl = zk.AuthACL(zk.PermAll)
		if err := conn.AddAuth("digest", []byte(cfg.Auth)); err != nil {
			return nil, fmt.Errorf("authenticate at zookeeper: %w", err)
		}
	}
	s := &zkLock{acl: acl, conn: conn, drained: make(chan struct{}), root: cfg.Root + "/zk-lock/"}
	go func() { // ends with the connection
		defer close(s.drained)
		for range events { // unused, but the library warns of a full channel
		}
	}()
	s.UnderLocks = deduct.NewUnderLocks(cfg.Config, deduct.EachProduct(s.acquire))
	return s, nil
}

func (s *zkLock) acquire(ctx context.Context, goodsID int64) (deduct.Lock, error) {
	lock := zk.NewLock(s.conn, s.root+operation.FormatGoodsID(goodsID), s.acl)
	got := make(chan error, 1)
	s.abandoned.Go(func() { got <- lock.Lock() })
	select {
	case err := <-got:
		if err != nil {
			return deduct.Lock{}, err
		}
		return deduct.Lock{Release: func(context.Context) error { return lock.Unlock() }}, nil
	case <-ctx.Done():
	}
	s.abandoned.Go(func() {
		if <-got == nil {
			_ = lock.Unlock() // if this fails, the lock ends with the session
		}
	})
	if s.conn.State() == zk.StateHasSession {
		return deduct.Lock{}, fmt.Errorf("%w: %w", operation.ErrLocked, ctx.Err())
	}
	return deduct.Lock{}, ctx.Err()
}

// Ready implements deduct.Strategy.
func (s *zkLock) Ready(context.Context) error {
	if s.conn.State() != zk.StateHasSession {
		return errors.New("no zookeeper session")
	}
	return nil
}

// Close implements deduct.Strategy.
func (s *zkLock) Close() error {
	s.conn.Close()
	<-s.drained
	s.abandoned.Wait()
	return nil
}

type silent struct{}

func (silent) Printf(string, ...any) {}
