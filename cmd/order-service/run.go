package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"orderstock/order-service/order"
	"orderstock/order-service/orderdb"
	"orderstock/order-service/orderhttp"
	"orderstock/pkg/coordination"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/ratelimit"
	"orderstock/pkg/service"
	"orderstock/pkg/stockapi"
)

// backlogEvery is the pause between two looks at the backlog.
const backlogEvery = 5 * time.Second

// inBackground calls work in a goroutine. stop ends the context of work and waits for its return.
func inBackground(ctx context.Context, work func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() { work(ctx) })
	return func() {
		cancel()
		working.Wait()
	}
}

// run serves until ctx ends. It returns nil if the stop cut off no order. It calls onListen, if that is not nil, with
// the address once the port is bound.
func run(ctx context.Context, cfg settings, onListen func(addr string)) (err error) {
	log := service.Begin("order-service", cfg.Settings)
	log.Info("starting", "config", fmt.Sprintf("%+v", cfg))

	base, err := service.Open(ctx, service.Options{
		Name: "order-service", Settings: cfg.Settings, MaxConns: cfg.MySQLMaxConns,
		Wrap: faults.connector, Log: log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, base.Close(ctx)) }()
	traces, named, flags := base.Traces, base.Named, base.Flags
	store := orderdb.New(base.DB)
	defer store.Close()
	limits := ratelimit.Open(ratelimit.Config{Redis: cfg.Redis(), Proxies: cfg.TrustedProxies, Metrics: named, Log: log})
	defer func() { err = errors.Join(err, limits.Close()) }()
	requests := sharedRequests
	if cfg.alone {
		requests = 0
	}
	stock, err := stockapi.NewClient(cfg.StockURLs, stockapi.Config{
		Token: string(cfg.Token), ServerName: cfg.StockServerName, Partitions: cfg.StockPartitions,
		Spread: cfg.spread || faults.spread(), SharedRequests: requests, BreakerRest: time.Second,
		Timeout: cfg.StockTimeout, Middleware: traces.Transport, Metrics: named, Log: log,
	})
	if err != nil {
		return err
	}
	defer stock.Close()

	// ZooKeeper's sessions stop after the server: an order in flight may still need an id.
	background := context.WithoutCancel(ctx)
	zookeeper := coordination.Open("order-service", base.ZooKeeper)
	defer func() { err = errors.Join(err, zookeeper.Close()) }()
	ids := zookeeper.LeaseIDs(background, "order-ids")
	defer func() { err = errors.Join(err, ids.Close(background)) }()
	if len(cfg.StockURLs) == 0 {
		// The token goes only to addresses that a replica with the token has announced.
		terms := coordination.Terms{Token: string(cfg.Token), HTTPS: cfg.StockServerName != ""}
		stopDiscovery := zookeeper.Discover(background, "stock", terms, func(urls []string) {
			log.Info("stock services", "urls", urls)
			if err := stock.SetReplicas(urls); err != nil {
				log.Error("stock services not taken over", "error", err)
			}
		})
		defer stopDiscovery()
	}

	orders := order.NewService(
		traced.store(faults.store(store)), traced.stock(faults.stock(stock)), traced.flags(faults.flags(flags)),
		ids, order.Config{
			ConfirmBudget: cfg.ConfirmBudget, PendingLimit: cfg.PendingLimit, CancelAfter: cfg.CancelAfter,
			PriceTTL: cfg.PriceTTL, MaxInFlight: cfg.MaxInFlight,
		})
	defer func() {
		stop, cancel := context.WithTimeout(background, cfg.ShutdownTimeout)
		defer cancel()
		err = errors.Join(err, orders.Close(stop))
	}()
	registerOrders(named, orders.Stats())
	defer inBackground(background, func(ctx context.Context) { orders.WatchBacklog(ctx, backlogEvery, log) })()
	reconciler := order.NewReconciler(orders, order.ReconcilerConfig{
		Interval: cfg.ReconcileInterval, MaxPause: cfg.ReconcileMaxPause, Begin: traced.reconcile,
	}, log)
	stopReconciler := zookeeper.Lead(background, "reconciler", cfg.ReconcileMaxPause, reconciler.Run)
	defer stopReconciler()

	handler := orderhttp.New(orders, orderhttp.Config{
		LimitOrders: limits.Limit("orders", cfg.RateLimitOrders),
		LimitReads:  limits.Limit("reads", cfg.RateLimitReads),
		Metrics:     named,
		RequireKey:  cfg.IdempotencyKey == keyRequired,
		Console:     cfg.ConsoleURL,
		Checks: map[string]httpapi.Check{
			"mysql":     {Ask: mysqldb.ReadyCheck(base.DB)},
			"redis":     {Ask: flags.Ready, Optional: true},
			"zookeeper": {Ask: ids.Ready},
			"token":     {Ask: stock.CheckToken},
		},
	}, log)
	return httpapi.Serve(ctx, httpapi.ServerConfig{
		Addr: cfg.ListenAddr, TLS: base.TLS, OpsAddr: cfg.OpsAddr, Metrics: base.Metrics,
		ShutdownDelay: cfg.ShutdownDelay, ShutdownTimeout: cfg.ShutdownTimeout, OnListen: onListen,
	}, traces.Handler(faults.handler(handler), httpapi.Inside(cfg.TrustedProxies)), log)
}
