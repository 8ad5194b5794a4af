package ladder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"orderstock/loadtest/stack"
	"orderstock/pkg/compile"
	"orderstock/pkg/servers"
	"orderstock/pkg/zklock"
)

// maxConnections is the number of connections that the database must admit: the services of all rows of a point run at
// the same time, and each keeps its pool.
const maxConnections = 5000

// OnServers compiles the services, starts MySQL, Redis and ZooKeeper, sets Servers, Bin and Dir of cfg, calls measure
// with it, and stops the servers. mysql selects the database: docker (see servers.FromImage), local (the installed
// one), or auto (docker if it is there). The folder with the logs stays if something failed.
func OnServers(ctx context.Context, mysql string, cfg Config, measure func(Config) error) (err error) {
	options := []servers.Option{
		servers.WithArgs("--innodb-buffer-pool-size=1024M", fmt.Sprintf("--max-connections=%d", maxConnections)),
	}
	switch mysql {
	case "auto", "docker":
		image, err := servers.FromImage(ctx)
		if err == nil {
			options = append(options, image)
		} else if mysql == "docker" {
			return err
		}
	case "local":
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
			cfg.say("the logs are in %s", cfg.Dir)
		}
	}()
	if cfg.Bin, err = build(ctx, cfg); err != nil {
		return err
	}
	cfg.say("starting MySQL, Redis and ZooKeeper")
	if cfg.Servers, err = stack.StartServers(ctx, cfg.Dir, options...); err != nil {
		return err
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, cfg.Servers.Stop(clean))
	}()
	cfg.say("warming ZooKeeper up")
	if err := warmUp(ctx, cfg.Servers.ZooKeeper.Addr(), cfg.Measure); err != nil {
		return err
	}
	return measure(cfg)
}

// build compiles the services, and returns the folder of their binaries.
func build(ctx context.Context, cfg Config) (bin string, err error) {
	root, err := stack.ModuleRoot()
	if err != nil {
		return "", err
	}
	cfg.say("building the services")
	bin = filepath.Join(root, "bin")
	return bin, compile.Programs(ctx, compile.Options{Root: root, Bin: bin}, "order-service", "stock-service")
}

// warmFor is how long ZooKeeper is kept busy at most before anything is measured.
const warmFor = 8 * time.Second

// warmUp sends ZooKeeper a lock's requests until Java has compiled the code for them. Otherwise the compilers
// would slow the first measurement. Before short measurements, which are not precise anyway, it takes ten of them.
func warmUp(ctx context.Context, zookeeper string, measurement time.Duration) error {
	session, err := zklock.Connect(ctx, []string{zookeeper})
	if err != nil {
		return fmt.Errorf("warm ZooKeeper up: %w", err)
	}
	end := time.Now().Add(min(warmFor, 10*measurement))
	var busy errgroup.Group
	for i := range 32 {
		lock := zklock.NewMutex(session, fmt.Sprintf("/ladder-warm-up-%d", i%8), zklock.WithHandoff(1, 0))
		busy.Go(func() error {
			for time.Now().Before(end) {
				held, err := lock.Acquire(ctx)
				if err == nil {
					err = held.Release(ctx)
				}
				if err != nil {
					return fmt.Errorf("warm ZooKeeper up: %w", err)
				}
			}
			return nil
		})
	}
	return errors.Join(busy.Wait(), session.Close())
}
