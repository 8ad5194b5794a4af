package system

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

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
// three ZooKeeper servers, each in a folder of dir. member(i), if not nil, are the options of MySQL server i,
// counted from 0.
func StartCluster(ctx context.Context, dir string, member func(i int) servers.Options) (*Servers, error) {
	var c Cluster
	_, err := servers.StartAll(
		func() (_ servers.Killer, err error) {
			c.MySQL, err = servers.StartMySQLGroup(ctx, filepath.Join(dir, "mysql"), 3, member)
			return c.MySQL, err
		},
		func() (_ servers.Killer, err error) {
			c.Redis, err = servers.StartRedisFailover(ctx, servers.Options{Dir: filepath.Join(dir, "redis")})
			return c.Redis, err
		},
		func() (_ servers.Killer, err error) {
			o := servers.Options{Dir: filepath.Join(dir, "zookeeper"), Args: []string{"-Xmx256m"}}
			c.ZooKeeper, err = servers.StartEnsemble(ctx, 3, o)
			return c.ZooKeeper, err
		},
	)
	if err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	c.Group = mysqlgroup.Config{AdminDSN: c.MySQL.MySQL().AdminDSN(), Password: rand.Text()}
	if err := mysqlgroup.Up(ctx, c.Group); err != nil {
		return nil, errors.Join(fmt.Errorf("start cluster: %w", err), c.All().Kill())
	}
	return &Servers{
		MySQL: c.MySQL.MySQL(), Redis: servers.AttachRedis(c.Redis.Addr()),
		ZooKeeper: servers.AttachZooKeeper(c.ZooKeeper.Addr()), Cluster: &c,
	}, nil
}

// repair starts dead servers, which may need each other to be ready, and resumes paused ones.
func (c *Cluster) repair(ctx context.Context) error {
	for _, s := range c.All() {
		if s.Running() {
			if err := s.Resume(); err != nil {
				return err
			}
		} else if err := s.Launch(); err != nil {
			return err
		}
	}
	if err := mysqlgroup.Up(ctx, c.Group); err == nil {
		return nil
	}
	_, err := mysqlgroup.Reboot(ctx, c.Group, false)
	return err
}

// All returns every server.
func (c *Cluster) All() servers.Fleet {
	return slices.Concat(c.MySQL.Fleet, c.Redis.Fleet, c.ZooKeeper.Fleet)
}
