package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"orderstock/pkg/operation"
	"orderstock/pkg/zklock"
	"orderstock/stock-service/deduct"
)

func (c *Console) readLock(ctx context.Context, s *view) error {
	goods := ""
	if sale, err := saleOf(ctx, s, c.player.Meter()); err == nil && len(sale.Goods) > 0 {
		goods = strconv.FormatInt(sale.Goods[0], 10)
	}
	path, says := s.lockPath(goods)
	if path == "" {
		c.feed.set("lock", Lock{Holders: []Contender{}, Waiters: []Contender{}, Says: says})
		return nil
	}
	session, err := s.zooKeeper(ctx)
	if err != nil {
		return err
	}
	status, err := zklock.Inspect(ctx, session, path)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.feed.set("lock", Lock{
		Path: path, Holders: contenders(status.Holders), Waiters: contenders(status.Waiters),
		Waiting: status.Waiting, Local: c.waits.local, Unlocked: c.waits.unlocked,
	})
	return nil
}

func contenders(of []zklock.Contender) []Contender {
	all := make([]Contender, len(of))
	for i, k := range of {
		owner := k.Owner.Label
		if owner == "" {
			owner = fmt.Sprintf("%s, process %d", k.Owner.Host, k.Owner.PID)
		}
		all[i] = Contender{
			Node: k.Node, Mode: k.Mode, Token: fmt.Sprintf("%x", k.Token.Czxid), SinceMS: time.Since(k.Since).Milliseconds(),
			Owner: owner, Session: fmt.Sprintf("%#x", uint64(k.Session)),
		}
	}
	return all
}

// zooKeeper returns a session for reading the lock's queue.
func (s *view) zooKeeper(ctx context.Context) (*zklock.Session, error) {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	if session != nil {
		return session, nil
	}
	if len(s.ZooKeeperAddrs) == 0 {
		return nil, errors.New("no ZooKeeper to look at")
	}
	session, err := zklock.Connect(ctx, s.ZooKeeperAddrs, zklock.WithAuth("digest", []byte(s.ZooKeeperAuth)),
		zklock.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed { // since the look above
		_ = session.Close()
		return nil, errors.New("the services are replaced")
	}
	s.session = session
	return session, nil
}

// lockPath returns the path of the strategy's lock for a product; goods is "" if there is no product yet. If path is
// "", says is the reason.
func (s *view) lockPath(goods string) (path, says string) {
	root := s.ZooKeeperRoot
	if s.oneLock {
		goods = "0"
	}
	switch s.Strategy {
	case "", deduct.Default:
		id, _ := strconv.ParseInt(goods, 10, 64) // none: the partition of 0 is as good as another
		return deduct.PartitionPath(root, operation.Partition(id, cmp.Or(s.Partitions, operation.Partitions))), ""
	case "case-study":
		return root + "/reduceStock", ""
	case "sequential":
		path = root + "/stock/" + goods
	case "zk-lock":
		path = root + "/zk-lock/" + goods
	case "single-node":
		return "", "The lock of a product is one node that every waiter watches: there is no queue."
	default:
		return "", "This strategy takes no lock in ZooKeeper."
	}
	if goods == "" {
		return "", "No lock has been taken yet."
	}
	return path, ""
}
