package main

import (
	"context"
	"errors"
	"fmt"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/opflag"
	"orderstock/pkg/service"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/stock"
	"orderstock/stock-service/stockdb"
	"orderstock/stock-service/stockhttp"
)

type options struct {
	allowUnsafe bool
	// onListen, where not nil, is told the address once the port is bound.
	onListen func(addr string)
}

// run serves until ctx ends; nil after a stop in which no request was cut.
func run(ctx context.Context, cfg config, opts options) (err error) {
	log := service.Begin("stock-service", cfg.Settings)
	log.Info("starting", "strategy", cfg.Strategy, "config", fmt.Sprintf("%+v", cfg))

	db, err := mysqldb.Open(string(cfg.MySQLDSN), mysqldb.Options{MaxConns: cfg.MySQLMaxConns, Wrap: faults.connector})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mysqldb.Close(db)) }()
	ledger := stockdb.New(db)
	defer ledger.Close()
	flags := opflag.Open(cfg.RedisAddr, log)
	defer func() { err = errors.Join(err, flags.Close()) }()
	strategy, err := deduct.New(cfg.Strategy, deduct.Config{
		Ledger:    ledger,
		ZooKeeper: cfg.ZooKeeperAddrs, Root: cfg.ZooKeeperRoot, SessionTimeout: cfg.SessionTimeout,
		Redis: cfg.RedisAddr, LockTimeout: cfg.LockTimeout, AllowUnsafe: opts.allowUnsafe, Log: log,
		WrapLock: faults.lock,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, strategy.Close()) }()

	handler := stockhttp.New(stock.NewService(faults.flags(flags), faults.ledger(ledger), strategy), stockhttp.Config{
		Token: string(cfg.Token), MaxInFlight: cfg.MaxInFlight, Timeout: cfg.RequestTimeout,
		Checks: map[string]httpapi.Check{
			"mysql":    {Ask: func(ctx context.Context) error { return mysqldb.Ping(ctx, db) }},
			"redis":    {Ask: flags.Ping, Optional: true},
			"strategy": {Ask: strategy.Ready},
		},
	}, log)
	return httpapi.Serve(ctx, httpapi.ServerConfig{
		Addr: cfg.ListenAddr, OpsAddr: cfg.OpsAddr, ShutdownTimeout: cfg.ShutdownTimeout, OnListen: opts.onListen,
	}, faults.handler(handler), log)
}
