package ladder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"orderstock/loadtest/stack"
	"orderstock/pkg/compile"
	"orderstock/pkg/servers"
)

// OnServers compiles the services, starts MySQL, Redis and ZooKeeper, sets Servers, Bin and Dir of cfg, calls measure
// with it, and stops the servers. mysql selects the database: docker (Image), local (the installed one), or auto
// (docker if it has the image). The folder with the logs stays if something failed.
func OnServers(ctx context.Context, mysql string, cfg Config, measure func(Config) error) (err error) {
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	switch mysql {
	case "auto":
		mysql = "local"
		if haveImage(ctx) {
			mysql = "docker"
		}
	case "docker", "local":
	default:
		return fmt.Errorf("--mysql %q: want docker, local or auto", mysql)
	}
	cfg.Dir, err = os.MkdirTemp("", "orderstock-ladder-")
	if err != nil {
		return fmt.Errorf("make the run's folder: %w", err)
	}
	defer func() {
		if err == nil {
			err = os.RemoveAll(cfg.Dir)
		} else {
			cfg.Progress("the logs are in " + cfg.Dir)
		}
	}()
	root, err := stack.ModuleRoot()
	if err != nil {
		return err
	}
	cfg.Progress("building the services")
	cfg.Bin = filepath.Join(root, "bin")
	options := compile.Options{Root: root, Bin: cfg.Bin}
	if err := compile.Programs(ctx, options, "order-service", "stock-service"); err != nil {
		return err
	}
	cfg.Progress("starting MySQL, Redis and ZooKeeper")
	up, stop, err := startServers(ctx, mysql, cfg.Dir)
	if err != nil {
		return err
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, stop(clean))
	}()
	cfg.Servers = up
	cfg.Progress("warming ZooKeeper up")
	if err := warmUp(ctx, up.ZooKeeper.Addr(), cfg.Measure); err != nil {
		return err
	}
	return measure(cfg)
}

// startServers starts the three servers. which is docker or local.
func startServers(ctx context.Context, which, dir string) (*stack.Servers, func(context.Context) error, error) {
	if which == "local" {
		s, err := stack.StartServers(ctx, dir, servers.WithBufferPoolMB(1024), servers.WithMaxConnections(maxConnections))
		if err != nil {
			return nil, nil, err
		}
		return s, s.Stop, nil
	}
	mysql, remove, err := startContainer(ctx)
	if err != nil {
		return nil, nil, err
	}
	s := &stack.Servers{MySQL: mysql}
	if s.Redis, err = servers.StartRedis(ctx, filepath.Join(dir, "redis")); err == nil {
		s.ZooKeeper, err = servers.StartZooKeeper(ctx, filepath.Join(dir, "zookeeper"))
	}
	stop := func(ctx context.Context) error { return errors.Join(s.Stop(ctx), remove(ctx)) }
	if err != nil {
		return nil, nil, errors.Join(err, stop(context.WithoutCancel(ctx)))
	}
	return s, stop, nil
}
