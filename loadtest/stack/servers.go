package stack

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

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

// StartServers starts the three servers together, each in a folder of dir.
func StartServers(ctx context.Context, dir string, opts ...servers.Option) (*Servers, error) {
	var (
		s       Servers
		errs    [3]error
		started sync.WaitGroup
	)
	started.Go(func() { s.MySQL, errs[0] = servers.StartMySQL(ctx, filepath.Join(dir, "mysql"), opts...) })
	started.Go(func() { s.Redis, errs[1] = servers.StartRedis(ctx, filepath.Join(dir, "redis"), opts...) })
	started.Go(func() {
		s.ZooKeeper, errs[2] = servers.StartZooKeeper(ctx, filepath.Join(dir, "zookeeper"), opts...)
	})
	started.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	return &s, nil
}

// Stop stops the servers that this process started, together.
func (s *Servers) Stop(ctx context.Context) error {
	if s.Cluster != nil {
		return s.Cluster.each(func(p stopper) error { return p.Stop(ctx) })
	}
	return s.each(func(p *servers.Server) error { return p.Stop(ctx) })
}

// Kill kills the servers that this process started.
func (s *Servers) Kill() error {
	if s.Cluster != nil {
		return s.Cluster.each(killed)
	}
	return s.each((*servers.Server).Kill)
}

// All returns every server.
func (s *Servers) All() []*servers.Server {
	if s.Cluster != nil {
		return s.Cluster.All()
	}
	return []*servers.Server{s.MySQL.Server, s.Redis.Server, s.ZooKeeper.Server}
}

func (s *Servers) each(do func(*servers.Server) error) error {
	var own []*servers.Server
	if s.MySQL != nil {
		own = append(own, s.MySQL.Server)
	}
	if s.Redis != nil {
		own = append(own, s.Redis.Server)
	}
	if s.ZooKeeper != nil {
		own = append(own, s.ZooKeeper.Server)
	}
	errs := make([]error, len(own))
	var all sync.WaitGroup
	for i, p := range own {
		all.Go(func() {
			if err := do(p); !errors.Is(err, servers.ErrAttached) {
				errs[i] = err
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
