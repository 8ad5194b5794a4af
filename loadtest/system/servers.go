package system

import (
	"context"
	"path/filepath"

	"orderstock/migrations"
	"orderstock/pkg/servers"
)

// Servers are the three servers of the services. Each was started by this process or attached to.
type Servers struct {
	MySQL     *servers.MySQL
	Redis     *servers.Redis
	ZooKeeper *servers.ZooKeeper
	// Cluster is not nil if there are several of each kind; the fields above then name them together.
	Cluster *Cluster
}

// StartServers starts the three servers together, each in a folder of dir, MySQL with these options.
func StartServers(ctx context.Context, dir string, mysql servers.Options) (*Servers, error) {
	var s Servers
	_, err := servers.StartAll(
		func() (_ servers.Killer, err error) {
			mysql.Dir = filepath.Join(dir, "mysql")
			s.MySQL, err = servers.StartMySQL(ctx, mysql)
			return s.MySQL, err
		},
		func() (_ servers.Killer, err error) {
			s.Redis, err = servers.StartRedis(ctx, servers.Options{Dir: filepath.Join(dir, "redis")})
			return s.Redis, err
		},
		func() (_ servers.Killer, err error) {
			s.ZooKeeper, err = servers.StartZooKeeper(ctx, servers.Options{Dir: filepath.Join(dir, "zookeeper")})
			return s.ZooKeeper, err
		},
	)
	if err != nil {
		return nil, err
	}
	return &s, nil
}

// Drop drops the databases and the users.
func (s *Servers) Drop(ctx context.Context, a migrations.Accounts) error {
	drop := []string{"DROP DATABASE IF EXISTS " + a.OrderDB, "DROP DATABASE IF EXISTS " + a.StockDB}
	for _, u := range []migrations.User{a.OrderApp, a.StockApp, a.Migrator, a.Verifier} {
		drop = append(drop, "DROP USER IF EXISTS "+u.Name)
	}
	return s.MySQL.Exec(ctx, drop...)
}

// Stop stops the servers that this process started, together.
func (s *Servers) Stop(ctx context.Context) error { return s.All().Stop(ctx) }

// Kill kills the servers that this process started.
func (s *Servers) Kill() error { return s.All().Kill() }

// All returns every server.
func (s *Servers) All() servers.Fleet {
	if s.Cluster != nil {
		return s.Cluster.All()
	}
	return servers.Fleet{s.MySQL.Server, s.Redis.Server, s.ZooKeeper.Server}
}
