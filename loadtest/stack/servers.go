package stack

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
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
	return each(s.own(), func(p stopper) error { return p.Stop(ctx) })
}

// Kill kills the servers that this process started.
func (s *Servers) Kill() error { return each(s.own(), stopper.Kill) }

// All returns every server.
func (s *Servers) All() []*servers.Server {
	if s.Cluster != nil {
		return s.Cluster.All()
	}
	return []*servers.Server{s.MySQL.Server, s.Redis.Server, s.ZooKeeper.Server}
}

// stopper is a server, or the servers of a kind in a cluster.
type stopper interface {
	Stop(ctx context.Context) error
	Kill() error
}

// own returns the servers that were started.
func (s *Servers) own() []stopper {
	if s.Cluster != nil {
		return s.Cluster.own()
	}
	return started(s.MySQL, s.Redis, s.ZooKeeper)
}

// started leaves out nil pointers.
func started(all ...stopper) []stopper {
	return slices.DeleteFunc(all, func(s stopper) bool { return reflect.ValueOf(s).IsNil() })
}

// each calls do with all of them at once. An attached server's refusal is no error.
func each[T any](all []T, do func(T) error) error {
	errs := make([]error, len(all))
	var doing sync.WaitGroup
	for i, one := range all {
		doing.Go(func() {
			if err := do(one); !errors.Is(err, servers.ErrAttached) {
				errs[i] = err
			}
		})
	}
	doing.Wait()
	return errors.Join(errs...)
}
