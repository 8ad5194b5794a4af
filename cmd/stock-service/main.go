// Command stock-service owns the stock. It deducts once for each operation, and never oversells.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"orderstock/pkg/command"
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

func main() { command.Main(newCommand()) }

// steps names statements in traces by their beginnings.
var steps = map[string]string{
	"UPDATE stock SET num":     "update-stock",
	"UPDATE stock FORCE INDEX": "update-stock",
	"INSERT INTO operations":   "insert-operation",
	"INSERT INTO stock_flow":   "insert-flow",
}

// run serves until ctx ends. It returns nil if the stop cut off no request. It calls onListen, if that is not nil, with
// the address once the port is bound.
func run(ctx context.Context, cfg settings, onListen func(addr string)) (err error) {
	base, err := service.Open(ctx, service.Options{
		Name: "stock-service", Settings: cfg.Settings, MaxConns: cfg.MySQLMaxConns,
		Wrap: faults.connector, Steps: steps,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, base.Close(ctx)) }()
	base.Log.Info("starting", "strategy", cfg.Strategy, "config", fmt.Sprintf("%+v", cfg))
	ledger := stockdb.New(base.DB)
	defer ledger.Close()
	deducter, err := faults.deducter(cfg.Strategy, compared.Config{
		Config: deduct.Config{
			Config: base.ZooKeeper, LockTimeout: cfg.LockTimeout, LockPatience: cfg.LockPatience,
			Partitions: cfg.StockPartitions, MaxGroup: cfg.MaxGroup, WrapLock: faults.lock,
		},
		Ledger: ledger, Redis: cfg.Redis(), AllowUnsafe: cfg.allowUnsafe,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, deducter.Close()) }()
	// The announcement has a separate session: not every strategy has one for locks.
	announcing := coordination.Open("announcement", base.ZooKeeper)
	defer func() { err = errors.Join(err, announcing.Close()) }()

	stocks := stock.NewService(faults.flags(base.Flags), faults.ledger(ledger), deducter)
	token, old := string(cfg.Token), string(cfg.OldToken)
	handler := stockhttp.New(stocks, stockhttp.Config{
		Token: token, OldToken: old, MaxInFlight: cfg.MaxInFlight, Timeout: cfg.RequestTimeout, Metrics: base.Named,
		Checks: map[string]httpapi.Check{
			"mysql":     {Ask: mysqldb.ReadyCheck(base.DB, stockdb.Tables...)},
			"redis":     {Ask: base.Flags.Ping, Optional: true},
			"announced": {Ask: announcing.Announced},
			// Without ZooKeeper, the row locks isolate the groups.
			"strategy": {Ask: deducter.Ready, Optional: cfg.Strategy == "grouped"},
		},
	}, base.Log)

	withdraw := func() {}
	defer func() { withdraw() }()
	return base.Serve(ctx, httpapi.ServerConfig{
		Addr: cfg.ListenAddr, MaxHeader: stockhttp.MaxHeader,
		OnListen: func(addr string) {
			withdraw = announcing.Announce(ctx, "stock", cmp.Or(cfg.AdvertiseAddr, addr), base.TLS != nil, token, old)
			if onListen != nil {
				onListen(addr)
			}
		},
	}, faults.handler(handler), httpapi.Carries(token, old))
}
