package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"orderstock/pkg/command"
	"orderstock/pkg/coordination"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/opflag"
	"orderstock/pkg/tracing/otlp"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/deduct/compared"
	"orderstock/stock-service/stock"
	"orderstock/stock-service/stockdb"
	"orderstock/stock-service/stockhttp"
	"orderstock/stock-service/stocktrace"
)

type options struct {
	allowUnsafe bool
	// onListen, if not nil, is called with the address once the port is bound.
	onListen func(addr string)
}

// run serves until ctx ends. It returns nil if the stop cut off no request.
func run(ctx context.Context, cfg settings, opts options) (err error) {
	log := command.Begin("stock-service", cfg.Service)
	log.Info("starting", "strategy", cfg.Strategy, "config", fmt.Sprintf("%+v", cfg))

	traces, err := otlp.Start(ctx, "stock-service", cfg.Settings, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, traces.Close(ctx)) }()

	secure, err := cfg.TLS()
	if err != nil {
		return err
	}
	metrics := prometheus.NewRegistry()
	named := prometheus.WrapRegistererWithPrefix("orderstock_", metrics) // except the libraries' own
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	db, err := mysqldb.Open(string(cfg.MySQLDSN), mysqldb.Options{
		MaxConns: cfg.MySQLMaxConns, Metrics: metrics, Wrap: faults.connector, Log: log,
		OpenDB: traces.OpenDB(map[string]string{
			"UPDATE stock SET num":   "update-stock",
			"INSERT INTO operations": "insert-operation",
			"INSERT INTO stock_flow": "insert-flow",
		}),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mysqldb.Close(db)) }()
	ledger := stockdb.New(db, mysqldb.NewEvictor(db, named, log))
	defer ledger.Close()
	flags := opflag.OpenAt(cfg.Redis(), log)
	defer func() { err = errors.Join(err, flags.Close()) }()
	flags.Instrument(traces.Redis)
	flags.Register(named)
	zookeeper := cfg.ZooKeeper()
	zookeeper.Metrics, zookeeper.Log = named, log
	deducter, err := faults.deducter(cfg.Strategy, compared.Config{
		Config: deduct.Config{
			Config: zookeeper, LockTimeout: cfg.LockTimeout, LockPatience: cfg.LockPatience,
			Partitions: cfg.StockPartitions, MaxGroup: cfg.MaxGroup, WrapLock: faults.lock,
		},
		Ledger: ledger, Redis: cfg.Redis(), AllowUnsafe: opts.allowUnsafe,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, deducter.Close()) }()

	// The announcement has a separate session: not every strategy has one for locks.
	announcing := coordination.Open("announcement", zookeeper)
	defer func() { err = errors.Join(err, announcing.Close()) }()

	stocks := stock.NewService(stocktrace.Flags(faults.flags(flags)), stocktrace.Ledger(faults.ledger(ledger)), deducter)
	handler := stockhttp.New(stocks, stockhttp.Config{
		Token: string(cfg.Token), OldToken: string(cfg.OldToken),
		MaxInFlight: cfg.MaxInFlight, Timeout: cfg.RequestTimeout, Metrics: named,
		Checks: map[string]httpapi.Check{
			"mysql":     {Ask: mysqldb.ReadyCheck(db)},
			"redis":     {Ask: flags.Ping, Optional: true},
			"announced": {Ask: announcing.Announced},
			// Without ZooKeeper, the row locks isolate the groups.
			"strategy": {Ask: deducter.Ready, Optional: cfg.Strategy == "grouped"},
		},
	}, log)
	withdraw := func() {}
	defer func() { withdraw() }()
	return httpapi.Serve(ctx, httpapi.ServerConfig{
		Addr: cfg.ListenAddr, TLS: secure, OpsAddr: cfg.OpsAddr, Metrics: metrics, ShutdownTimeout: cfg.ShutdownTimeout,
		MaxHeader: stockhttp.MaxHeader,
		OnListen: func(addr string) {
			withdraw = announcing.Announce(ctx, "stock", cmp.Or(cfg.AdvertiseAddr, addr), secure != nil,
				string(cfg.Token), string(cfg.OldToken))
			if opts.onListen != nil {
				opts.onListen(addr)
			}
		},
	}, traces.Handler(faults.handler(handler), httpapi.Carries(string(cfg.Token), string(cfg.OldToken))), log)
}
