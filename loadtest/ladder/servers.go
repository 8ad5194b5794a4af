package ladder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"orderstock/loadtest/stack"
	"orderstock/pkg/compile"
	"orderstock/pkg/retry"
	"orderstock/pkg/servers"
	"orderstock/pkg/zklock"
)

// Image is the database image of the compose file. The ladder measures on it if
// Docker has it.
const Image = "mysql:9.7"

// maxConnections is the number of connections that the database must admit: the services of all rows of a point run at
// the same time, and each keeps its pool.
const maxConnections = 5000

// OnServers compiles the services, starts MySQL, Redis and ZooKeeper, sets Servers, Bin and Dir of cfg, calls measure
// with it, and stops the servers. mysql selects the database: docker (Image), local (the installed one), or auto
// (docker if it has the image). The folder with the logs stays if something failed.
func OnServers(ctx context.Context, mysql string, cfg Config, measure func(Config) error) (err error) {
	switch mysql {
	case "auto":
		mysql = "local"
		if exec.CommandContext(ctx, "docker", "image", "inspect", Image).Run() == nil {
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
			cfg.say("the logs are in %s", cfg.Dir)
		}
	}()
	if cfg.Bin, err = build(ctx, cfg); err != nil {
		return err
	}
	cfg.say("starting MySQL, Redis and ZooKeeper")
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
	cfg.say("warming ZooKeeper up")
	if err := warmUp(ctx, up.ZooKeeper.Addr(), cfg.Measure); err != nil {
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

// startContainer runs the image's MySQL, as durable as a production primary, on the host's network, so that there is no
// proxy between it and the services. The returned function removes the container and its data.
func startContainer(ctx context.Context) (*servers.MySQL, func(context.Context) error, error) {
	port, err := servers.FreePort()
	if err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", Image, err)
	}
	const password = "ladder"
	name := "orderstock-ladder-" + strconv.Itoa(os.Getpid())
	docker := func(ctx context.Context, args ...string) error {
		if out, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("docker %s %s: %w: %s", args[0], name, err, out)
		}
		return nil
	}
	err = docker(ctx, "run", "--detach", "--rm", "--name", name, "--network", "host",
		"--env", "MYSQL_ROOT_PASSWORD="+password, Image,
		"--port="+strconv.Itoa(port), "--bind-address=127.0.0.1", "--mysqlx=OFF",
		"--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=1G",
		fmt.Sprintf("--max-connections=%d", maxConnections))
	if err != nil {
		return nil, nil, err
	}
	remove := func(ctx context.Context) error { return docker(ctx, "rm", "--force", "--volumes", name) }
	m := servers.AttachMySQLServer("127.0.0.1:"+strconv.Itoa(port), "root", password)
	within, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	pause := retry.Policy{First: 500 * time.Millisecond, Max: 500 * time.Millisecond}
	if err := retry.Run(within, pause, func() error { return m.Ping(within) }); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("wait for %s: %w", Image, err), remove(context.WithoutCancel(ctx)))
	}
	return m, remove, nil
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
