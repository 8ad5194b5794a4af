package stack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"orderstock/pkg/mysqlgroup"
	"orderstock/pkg/servers"
)

// Cluster is several servers of each kind, so that any one server may die. The other fields of Servers then hold the
// addresses of all servers of a kind together.
type Cluster struct {
	MySQL     *servers.MySQLGroup
	Redis     *servers.RedisFailover
	ZooKeeper *servers.Ensemble
	// Group is the configuration for forming the group of MySQL servers again.
	Group mysqlgroup.Config
}

// StartCluster starts three MySQL servers and forms a group of them, a Redis with a replica and three Sentinels, and
// three ZooKeeper servers, each in a folder of dir. member(i), if not nil, are further options of MySQL server i,
// counted from 0.
func StartCluster(ctx context.Context, dir string, member func(i int) []servers.Option) (*Servers, error) {
	var (
		c       Cluster
		errs    [3]error
		started sync.WaitGroup
	)
	started.Go(func() { c.MySQL, errs[0] = servers.StartMySQLGroup(ctx, filepath.Join(dir, "mysql"), 3, member) })
	started.Go(func() { c.Redis, errs[1] = servers.StartRedisFailover(ctx, filepath.Join(dir, "redis")) })
	started.Go(func() {
		c.ZooKeeper, errs[2] = servers.StartEnsemble(ctx, filepath.Join(dir, "zookeeper"), 3, servers.WithHeapMB(256))
	})
	started.Wait()
	err := errors.Join(errs[:]...)
	if err == nil {
		c.Group = mysqlgroup.Config{AdminDSN: c.MySQL.MySQL().AdminDSN(), Password: rand.Text()}
		err = mysqlgroup.Up(ctx, c.Group)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start cluster: %w", err), each(c.own(), stopper.Kill))
	}
	return &Servers{
		MySQL: c.MySQL.MySQL(), Redis: servers.AttachRedis(c.Redis.Addr()),
		ZooKeeper: servers.AttachZooKeeper(c.ZooKeeper.Addr()), Cluster: &c,
	}, nil
}

// own returns the servers of each kind that were started.
func (c *Cluster) own() []stopper { return started(c.MySQL, c.Redis, c.ZooKeeper) }

// All returns every server.
func (c *Cluster) All() []*servers.Server {
	var all []*servers.Server
	for _, m := range c.MySQL.Members {
		all = append(all, m.Server)
	}
	for _, r := range c.Redis.Servers {
		all = append(all, r.Server)
	}
	all = append(all, c.Redis.Sentinels...)
	for _, z := range c.ZooKeeper.Servers {
		all = append(all, z.Server)
	}
	return all
}
