package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"orderstock/pkg/coordination"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/service"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/deduct/compared"
	"orderstock/stock-service/stock"
	"orderstock/stock-service/stockdb"
	"orderstock/stock-service/stockhttp"
)

type options struct {
	allowUnsafe bool
	// onListen, if not nil, is called with the address once the port is bound.
	onListen func(addr string)
}

// run serves until ctx ends. It returns nil if the stop cut off no request.
func run(ctx context.Context, cfg settings, opts options) (err error) {
	log := service.Begin("stock-service", cfg.Settings)
	log.Info("starting", "strategy", cfg.Strategy, "config", fmt.Sprintf("%+v", cfg))

	base, err := service.Open(ctx, service.Options{
		Name: "stock-service", Settings: cfg.Settings, MaxConns: cfg.MySQLMaxConns,
		Wrap: faults.connector, Log: log,
		Steps: map[string]string{
			"UPDATE stock SET num":     "update-stock",
			"UPDATE stock FORCE INDEX": "update-stock",
			"INSERT INTO operations":   "insert-operation",
			"INSERT INTO stock_flow":   "insert-flow",
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, base.Close(ctx)) }()
	traces, named, flags := base.Traces, base.Named, base.Flags
	ledger := stockdb.New(base.DB)
	defer ledger.Close()
	deducter, err := faults.deducter(cfg.Strategy, compared.Config{
		Config: deduct.Config{
			Config: base.ZooKeeper, LockTimeout: cfg.LockTimeout, LockPatience: cfg.LockPatience,
			Partitions: cfg.StockPartitions, MaxGroup: cfg.MaxGroup, WrapLock: faults.lock,
		},
		Ledger: ledger, Redis: cfg.Redis(), AllowUnsafe: opts.allowUnsafe,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, deducter.Close()) }()

	// The announcement has a separate session: not every strategy has one for locks.
	announcing := coordination.Open("announcement", base.ZooKeeper)
	defer func() { err = errors.Join(err, announcing.Close()) }()

	stocks := stock.NewService(traced.flags(faults.flags(flags)), traced.ledger(faults.ledger(ledger)), deducter)
	handler := stockhttp.New(stocks, stockhttp.Config{
		Token: string(cfg.Token), OldToken: string(cfg.OldToken),
		MaxInFlight: cfg.MaxInFlight, Timeout: cfg.RequestTimeout, Metrics: named,
		Checks: map[string]httpapi.Check{
			"mysql":     {Ask: mysqldb.ReadyCheck(base.DB)},
			"redis":     {Ask: flags.Ping, Optional: true},
			"announced": {Ask: announcing.Announced},
			// Without ZooKeeper, the row locks isolate the groups.
			"strategy": {Ask: deducter.Ready, Optional: cfg.Strategy == "grouped"},
		},
	}, log)
	withdraw := func() {}
	defer func() { withdraw() }()
	return httpapi.Serve(ctx, httpapi.ServerConfig{
		Addr: cfg.ListenAddr, TLS: base.TLS, OpsAddr: cfg.OpsAddr, Metrics: base.Metrics,
		ShutdownDelay: cfg.ShutdownDelay, ShutdownTimeout: cfg.ShutdownTimeout, MaxHeader: stockhttp.MaxHeader,
		OnListen: func(addr string) {
			withdraw = announcing.Announce(ctx, "stock", cmp.Or(cfg.AdvertiseAddr, addr), base.TLS != nil,
				string(cfg.Token), string(cfg.OldToken))
			if opts.onListen != nil {
				opts.onListen(addr)
			}
		},
	}, traces.Handler(faults.handler(handler), httpapi.Carries(string(cfg.Token), string(cfg.OldToken))), log)
}
