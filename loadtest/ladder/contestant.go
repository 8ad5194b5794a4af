package ladder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
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
	"orderstock/pkg/stockapi"
)

// contestant is an experiment while it is measured, with its system.
type contestant struct {
	trial.Experiment
	system *system.System
	direct *direct // nil unless the strategy is Direct

	reports []*history.Report // of the turns
	locks   lockCounts
	fired   time.Duration // the time over which locks counts
}

func (c *contestant) String() string {
	return cmp.Or(c.Name, fmt.Sprintf("%s/%d", c.Services.Strategy, c.Services.Replicas))
}

// opened numbers the stacks of this process. Each has its own databases, ZooKeeper nodes and logs.
var opened atomic.Int64

// patient returns the settings with limits for a slow strategy: its callers wait, so that it is measured and not
// rejected.
func patient(settings map[string]string) map[string]string {
	env := map[string]string{
		"LOCK_TIMEOUT": "20s", "STOCK_TIMEOUT": "25s", "CONFIRM_BUDGET": "28s", "PENDING_LIMIT": "60s",
		"CANCEL_AFTER": "5m", "REQUEST_TIMEOUT": "25s",
	}
	maps.Copy(env, settings)
	return env
}

// open starts the services of the experiment: no order services if it only deducts.
func (cfg Config) open(ctx context.Context, e trial.Experiment) (*contestant, error) {
	suffix := fmt.Sprintf("_ladder_%d", opened.Add(1))
	sc := e.Services.Config()
	sc.Dir, sc.Bin, sc.Servers = filepath.Join(cfg.Dir, suffix[1:]), cfg.Bin, cfg.Servers
	sc.OrderServices, sc.ZooKeeperRoot, sc.Accounts = 1, "/orderstock"+suffix, migrations.AccountsOf(suffix)
	if e.Services.Build != "" {
		on := *cfg.Servers
		on.MySQL = cfg.builds[e.Group]
		sc.Servers, sc.Accounts = &on, migrations.DefaultAccounts()
	}
	isDirect := sc.Strategy == Direct
	if isDirect {
		sc.Strategy = Default // of the service that makes the products
	}
	if e.Load.Path == history.PathDeduct || isDirect {
		sc.OrderServices = -1
	}
	st, err := system.Open(ctx, sc)
	if err != nil {
		return nil, err
	}
	c := &contestant{Experiment: e, system: st}
	if isDirect {
		if c.direct, err = openDirect(st); err != nil {
			return nil, errors.Join(err, c.close(ctx))
		}
	}
	return c, nil
}

// close stops the services, and drops their databases and users.
func (c *contestant) close(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if c.direct != nil {
		err = c.direct.close()
	}
	err = errors.Join(err, c.system.Stop(ctx), c.system.Drop(ctx, c.system.Accounts()))
	if err != nil {
		return fmt.Errorf("take the stack of %s down: %w", c, err)
	}
	return nil
}

// sharedRequests is the order service's default.
const sharedRequests = 4

// run fires the load at the contestant, while its acts break something.
func (c *contestant) run(ctx context.Context, load fire.Config) (_ *trial.Result, err error) {
	load.Target = c.system.Target()
	switch {
	case c.direct != nil:
		load.Deduct, load.Place = c.direct.deduct, c.direct.place
	case load.Path == history.PathDeduct:
		stop, startErr := c.asOrderService(&load)
		if startErr != nil {
			return nil, startErr
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	e := c.Experiment
	e.Load = load
	return e.Fire(ctx, c.system, load.Mix.Seed)
}

// asOrderService makes the load's deductions like the order service: it sets the flag in Redis, then calls the client
// that shares requests. Callers must call stop when the load has ended.
func (c *contestant) asOrderService(load *fire.Config) (stop func() error, err error) {
	partitions, _ := strconv.Atoi(c.Services.Env["STOCK_PARTITIONS"]) // a value that is no number stops the services
	client, err := stockapi.NewClient(load.StockURLs, stockapi.Config{
		Token: load.StockToken, SharedRequests: sharedRequests, Partitions: partitions, Tries: 1, Timeout: time.Minute,
	})
	if err != nil {
		return nil, err
	}
	server := redisdb.Server{Addrs: []string{c.system.Redis.Addr()}}
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

// countLocks reads the counters of ZooKeeper and of all stock services.
func (c *contestant) countLocks(ctx context.Context) (n lockCounts, err error) {
	server, err := c.system.ZooKeeper.Monitor(ctx)
	if err != nil {
		return n, err
	}
	n.events = server["zk_sum_node_deleted_watch_count"] + server["zk_sum_node_children_watch_count"]
	for _, s := range c.system.Stocks {
		counts, err := s.Metrics(ctx)
		if err != nil {
			return n, fmt.Errorf("read the metrics of %s: %w", s.Name(), err)
		}
		n.locks += counts["orderstock_stock_lock_wait_seconds"]
		n.handovers += counts["orderstock_stock_lock_woken_total"]
	}
	return n, nil
}
