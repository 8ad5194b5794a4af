package ladder

import (
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

// open starts the services of the experiment next to others: no order services if it only deducts.
func (cfg Config) open(ctx context.Context, e trial.Experiment) (_ *trial.Side, err error) {
	suffix := fmt.Sprintf("_ladder_%d", opened.Add(1))
	sc := e.Services.Config()
	sc.Dir, sc.Bin, sc.Servers = filepath.Join(cfg.Dir, suffix[1:]), cfg.Bin, cfg.Servers
	sc.OrderServices, sc.ZooKeeperRoot, sc.Accounts = 1, "/orderstock"+suffix, migrations.AccountsOf(suffix)
	if e.Services.Build != "" {
		on := *cfg.Servers
		on.MySQL = cfg.builds[e.Name]
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
	hangUp := func() error { return nil }
	side := &trial.Side{Experiment: e, System: st, Close: func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		return errors.Join(hangUp(), st.Stop(ctx), st.Drop(ctx, st.Accounts()))
	}}
	side.Load.Target = st.Target()
	switch {
	case isDirect:
		var d *direct
		if d, err = openDirect(st); err == nil {
			side.Load.Deduct, side.Load.Place, hangUp = d.deduct, d.place, d.close
		}
	case e.Load.Path == history.PathDeduct:
		hangUp, err = asOrderService(&side.Load, st, e.Services.Env["STOCK_PARTITIONS"])
	}
	if err != nil {
		return nil, errors.Join(err, side.Close(ctx))
	}
	return side, nil
}

// sharedRequests is the order service's default.
const sharedRequests = 4

// asOrderService makes the load's deductions like the order service: it sets the flag in Redis, then calls the client
// that shares requests. Callers must call stop at the end.
func asOrderService(load *fire.Config, s *system.System, partitions string) (stop func() error, err error) {
	n, _ := strconv.Atoi(partitions) // a value that is no number stops the services
	client, err := stockapi.NewClient(load.StockURLs, stockapi.Config{
		Token: load.StockToken, SharedRequests: sharedRequests, Partitions: n, Tries: 1, Timeout: time.Minute,
	})
	if err != nil {
		return func() error { return nil }, err
	}
	flags := redisdb.OpenFlags(s.RedisServer(), slog.New(slog.DiscardHandler))
	load.Deduct = func(ctx context.Context, flag string, items []history.Item) (operation.Operation, error) {
		flags.Set(ctx, flag)
		return client.Deduct(ctx, flag, items)
	}
	return func() error {
		client.Close()
		return flags.Close()
	}, nil
}
