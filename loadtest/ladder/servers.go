package ladder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"orderstock/loadtest/system"
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
	options := servers.Options{
		Args: []string{"--innodb-buffer-pool-size=1024M", fmt.Sprintf("--max-connections=%d", maxConnections)},
	}
	switch mysql {
	case "auto", "docker":
		if options.Program, err = servers.FromImage(ctx); err != nil && mysql == "docker" {
			return err
		}
	case "local":
	default:
		return fmt.Errorf("--mysql %q: want docker, local or auto", mysql)
	}
	s, err := system.Open(ctx, system.Options{MySQL: options, Progress: cfg.Progress})
	if err != nil {
		return err
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err != nil {
			s.KeepDir()
			cfg.say("the logs are in %s", s.Dir)
		}
		err = errors.Join(err, s.Stop(clean))
	}()
	cfg.Dir, cfg.Bin, cfg.Servers, cfg.mysql = s.Dir, s.Bin, s.Servers, options
	cfg.say("warming ZooKeeper up")
	if err := warmUp(ctx, cfg.Servers.ZooKeeper.Addr(), cfg.Measure); err != nil {
		return err
	}
	return measure(cfg)
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
