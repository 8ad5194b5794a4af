package ladder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/migrations"
	"orderstock/pkg/operation"
	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers"
	"orderstock/pkg/stockapi"
)

// variant is a setting of the services to measure. The zero value of a field means the services' default.
type variant struct {
	strategy string
	replicas int // of the stock service
	// name says what differs from the other variants of a comparison, if neither of the above does.
	name string
	// impatient leaves the services' own time limits.
	impatient bool
	// env are settings of both services, and orderEnv of the order services alone.
	env, orderEnv map[string]string
	// bin is the folder of another build's programs, and mysql its server: it may have other tables, and its program for
	// them knows the usual names alone.
	bin   string
	mysql *servers.MySQL
}

func (v variant) String() string {
	return cmp.Or(v.name, fmt.Sprintf("%s/%d", v.strategy, v.replicas))
}

// contestant is a variant while it is measured.
type contestant struct {
	variant
	system trial.System
	stack  *system.Stack // the system, unless that is in containers
	direct *direct       // nil unless the strategy is Direct
	// begin, if not nil, is called before each turn.
	begin func(context.Context) error

	reports []*history.Report // of the turns
	locks   lockCounts
	fired   time.Duration // the time over which locks counts
}

// opened numbers the stacks of this process. Each has its own databases, ZooKeeper nodes and logs.
var opened atomic.Int64

// patience are the limits for a slow strategy: its callers wait, so that it is measured and not rejected.
var patience = map[string]string{
	"LOCK_TIMEOUT": "20s", "STOCK_TIMEOUT": "25s", "CONFIRM_BUDGET": "28s", "PENDING_LIMIT": "60s",
	"CANCEL_AFTER": "5m", "REQUEST_TIMEOUT": "25s",
}

// open starts the services of the variant.
func (cfg Config) open(ctx context.Context, v variant, path string) (*contestant, error) {
	suffix := fmt.Sprintf("_ladder_%d", opened.Add(1))
	accounts := migrations.DefaultAccounts()
	for _, name := range []*string{
		&accounts.OrderDB, &accounts.StockDB, &accounts.OrderApp.Name, &accounts.StockApp.Name, &accounts.Migrator.Name,
		&accounts.Verifier.Name,
	} {
		*name += suffix
	}
	env := map[string]string{}
	if !v.impatient {
		maps.Copy(env, patience)
	}
	maps.Copy(env, v.env)
	orderEnv := maps.Clone(env)
	maps.Copy(orderEnv, v.orderEnv)
	sc := system.Config{
		Dir: filepath.Join(cfg.Dir, suffix[1:]), Bin: cfg.Bin, Servers: cfg.Servers,
		OrderServices: 1, StockServices: v.replicas, Strategy: v.strategy, Accounts: accounts,
		ZooKeeperRoot: "/orderstock" + suffix, OrderEnv: orderEnv, StockEnv: env,
	}
	if v.bin != "" {
		on := *sc.Servers
		on.MySQL = v.mysql
		sc.Bin, sc.Servers, sc.Accounts, sc.Migrate = v.bin, &on, migrations.DefaultAccounts(), v.migrate
		// It may not look for stock services in ZooKeeper.
		sc.Route = func(_ string, real system.Addresses) (system.Addresses, error) { return real, nil }
	}
	if v.strategy == Direct {
		sc.Strategy = Default // of the service that makes the products
	}
	if path == PathDeduct || v.strategy == Direct {
		sc.OrderServices = -1
	}
	st, err := system.Up(ctx, sc)
	if err != nil {
		return nil, err
	}
	c := &contestant{variant: v, system: st, stack: st}
	if v.strategy == Direct {
		if c.direct, err = openDirect(st); err != nil {
			return nil, errors.Join(err, c.close(ctx))
		}
	}
	return c, nil
}

// migrate makes the tables with the build's own program.
func (v variant) migrate(ctx context.Context, cfg migrations.Config) error {
	cmd := exec.CommandContext(ctx, filepath.Join(v.bin, "migrate"), "up")
	a := cfg.Accounts
	cmd.Env = servers.Environment(
		"MYSQL_ADMIN_DSN="+cfg.AdminDSN, "ORDER_DB_PASSWORD="+a.OrderApp.Password,
		"STOCK_DB_PASSWORD="+a.StockApp.Password, "MIGRATE_DB_PASSWORD="+a.Migrator.Password,
		"VERIFY_DB_PASSWORD="+a.Verifier.Password,
	)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make the tables of the build in %s: %w: %s", v.bin, err, out)
	}
	return nil
}

// close stops the services, and drops their databases and users.
func (c *contestant) close(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if c.direct != nil {
		err = c.direct.close()
	}
	a := c.stack.Accounts()
	drop := []string{"DROP DATABASE `" + a.OrderDB + "`", "DROP DATABASE `" + a.StockDB + "`"}
	for _, u := range []migrations.User{a.OrderApp, a.StockApp, a.Migrator, a.Verifier} {
		drop = append(drop, "DROP USER '"+u.Name+"'@'%'")
	}
	err = errors.Join(err, c.stack.Stop(ctx), c.stack.Servers.MySQL.Exec(ctx, drop...))
	if err != nil {
		return fmt.Errorf("take the stack of %s down: %w", c, err)
	}
	return nil
}

// sharedRequests is the order service's default.
const sharedRequests = 4

// run fires the load at the contestant, while the acts break something.
func (c *contestant) run(ctx context.Context, load fire.Config, acts ...trial.Timed) (_ *trial.Result, err error) {
	t := trial.On(c.system, load)
	t.Acts = acts
	if len(acts) > 0 && len(t.Load.StockURLs) > 1 {
		t.Load.StockURLs = t.Load.StockURLs[1:] // the first one fails, and the others make the products
	}
	switch {
	case c.direct != nil:
		t.Load.Deduct, t.Load.Place = c.direct.deduct, c.direct.place
	case load.Path == PathDeduct:
		stop, startErr := c.asOrderService(&t.Load)
		if startErr != nil {
			return nil, startErr
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	return t.Fire(ctx)
}

// asOrderService makes the load's deductions like the order service: it sets the flag in Redis, then calls the client
// that shares requests. Callers must call stop when the load has ended.
func (c *contestant) asOrderService(load *fire.Config) (stop func() error, err error) {
	partitions, _ := strconv.Atoi(c.env["STOCK_PARTITIONS"]) // a value that is no number stops the services
	client, err := stockapi.NewClient(load.StockURLs, stockapi.Config{
		Token: load.StockToken, SharedRequests: sharedRequests, Partitions: partitions, Tries: 1, Timeout: time.Minute,
	})
	if err != nil {
		return nil, err
	}
	server := redisdb.Server{Addrs: []string{c.stack.Servers.Redis.Addr()}}
	flags := redisdb.OpenFlags(server, slog.New(slog.DiscardHandler))
	load.Deduct = func(ctx context.Context, flag string, items []history.Item) (operation.Operation, error) {
		flags.Set(ctx, flag)
		return client.Deduct(ctx, flag, items)
	}
	return func() error {
		client.Close()
		return flags.Close()
	}, nil
}

// lockCounts are the watch events that ZooKeeper has sent for deleted nodes and for changed lists of children, the
// locks that the stock services have taken, and how often one of them woke for a lock that another had given up.
type lockCounts struct{ events, locks, handovers float64 }

// add adds the differences between two readings.
func (c *lockCounts) add(before, after lockCounts) {
	c.events += after.events - before.events
	c.locks += after.locks - before.locks
	c.handovers += after.handovers - before.handovers
}

// wakeups returns the watch events for each lock that was taken.
func (c lockCounts) wakeups() float64 {
	if c.locks == 0 {
		return 0
	}
	return c.events / c.locks
}

// countLocks reads the counters of ZooKeeper and of all stock services. Without a stack it counts nothing.
func (c *contestant) countLocks(ctx context.Context) (n lockCounts, err error) {
	if c.stack == nil {
		return n, nil
	}
	server, err := c.stack.Servers.ZooKeeper.Monitor(ctx)
	if err != nil {
		return n, err
	}
	n.events = server["zk_sum_node_deleted_watch_count"] + server["zk_sum_node_children_watch_count"]
	for _, s := range c.stack.Stock {
		counts, err := s.Metrics(ctx)
		if err != nil {
			return n, fmt.Errorf("read the metrics of %s: %w", s.Name(), err)
		}
		n.locks += counts["orderstock_stock_lock_wait_seconds"]
		n.handovers += counts["orderstock_stock_lock_woken_total"]
	}
	return n, nil
}
