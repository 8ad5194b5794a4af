// Command order-service takes orders and drives each of them to an outcome.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"orderstock/order-service/order"
	"orderstock/order-service/orderdb"
	"orderstock/order-service/orderhttp"
	"orderstock/pkg/command"
	"orderstock/pkg/config"
	"orderstock/pkg/coordination"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/service"
)

func main() { command.Main(newCommand()) }

func newCommand() *cobra.Command {
	return service.Command(service.Program[settings]{
		Name: "order-service", Short: "Take orders, and drive each of them to an outcome, exactly once",
		Environment: environment, Read: config.Read[settings],
		Serve:   func(ctx context.Context, cfg settings) error { return run(ctx, cfg, nil) },
		Listens: func(cfg settings) (string, bool) { return cfg.ListenAddr, cfg.TLSCert != "" },
	})
}

// run serves until ctx ends. It returns nil if the stop cut off no order. It calls onListen, if that is not nil, with
// the address once the port is bound.
func run(ctx context.Context, cfg settings, onListen func(addr string)) (err error) {
	base, err := service.Open(ctx, service.Options{
		Name: "order-service", Settings: cfg.Settings, MaxConns: cfg.MySQLMaxConns, Wrap: faults.connector,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, base.Close(ctx)) }()
	base.Log.Info("starting", "config", fmt.Sprintf("%+v", cfg))
	store := orderdb.New(base.DB)
	defer store.Close()
	limits := orderhttp.OpenLimits(orderhttp.LimitConfig{
		Redis: cfg.Redis(), Proxies: cfg.TrustedProxies, Metrics: base.Named, Log: base.Log,
	})
	defer func() { err = errors.Join(err, limits.Close()) }()
	stock, err := openStock(cfg, base)
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
	defer followStock(background, cfg, zookeeper, stock, base.Log)()
	orders := order.NewService(faults.store(store), faults.stock(stock), faults.flags(base.Flags), ids, cfg.Config)
	stopOrders := startWork(background, cfg, base, zookeeper, orders)
	defer func() { err = errors.Join(err, stopOrders()) }()

	handler := orderhttp.New(orders, orderhttp.Config{
		LimitOrders: limits.Limit("orders", cfg.RateLimitOrders),
		LimitReads:  limits.Limit("reads", cfg.RateLimitReads),
		Metrics:     base.Named,
		RequireKey:  cfg.IdempotencyKey == keyRequired,
		Console:     cfg.ConsoleURL,
		Checks: map[string]httpapi.Check{
			"mysql": {Ask: mysqldb.ReadyCheck(base.DB, orderdb.Tables...)},
			"redis": {Ask: base.Flags.Ready, Optional: true},
			"ids":   {Ask: ids.Ready},
			"token": {Ask: stock.CheckToken},
		},
	}, base.Log)
	return base.Serve(ctx, httpapi.ServerConfig{Addr: cfg.ListenAddr, OnListen: onListen},
		faults.handler(handler), orderhttp.Inside(cfg.TrustedProxies))
}
