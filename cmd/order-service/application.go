package main

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"orderstock/order-service/order"
	"orderstock/pkg/coordination"
	"orderstock/pkg/service"
	"orderstock/pkg/stockapi"
)

// sharedRequests bounds the shared requests in flight to each stock service; full ones may be four times as many. A few
// in flight fill each other, as the decision about shared requests shows.
const sharedRequests = 4

// openStock returns the client of the stock service. Callers must Close it.
func openStock(cfg settings, base *service.Base) (*stockapi.Client, error) {
	return stockapi.NewClient(cfg.StockURLs, stockapi.Config{
		Token: string(cfg.Token), ServerName: cfg.StockServerName, Partitions: cfg.StockPartitions,
		Spread: faults.spread(), SharedRequests: sharedRequests, BreakerRest: time.Second,
		Timeout: cfg.StockTimeout, Middleware: base.Traces.Transport, Metrics: base.Named, Log: base.Log,
	})
}

// followStock gives the client the stock services that are announced in ZooKeeper, unless the settings name them, until
// stop is called.
func followStock(
	ctx context.Context, cfg settings, zookeeper *coordination.Session, stock *stockapi.Client, log *slog.Logger,
) (stop func()) {
	if len(cfg.StockURLs) > 0 {
		return func() {}
	}
	// The token goes only to addresses that a replica with the token has announced.
	terms := coordination.Terms{Token: string(cfg.Token), HTTPS: cfg.StockServerName != ""}
	return zookeeper.Discover(ctx, "stock", terms, func(urls []string) {
		log.Info("stock services", "urls", urls)
		if err := stock.SetReplicas(urls); err != nil {
			log.Error("stock services not taken over", "error", err)
		}
	})
}

// backlogEvery is the pause between two looks at the backlog.
const backlogEvery = 5 * time.Second

// startWork begins the work on the orders that no request waits for: the reconciler, if this replica leads, and the
// look at the backlog. It registers the metrics. Stop ends that work, and waits for the orders in flight.
func startWork(
	ctx context.Context, cfg settings, base *service.Base, zookeeper *coordination.Session, orders *order.Service,
) (stop func() error) {
	registerOrders(base.Named, orders.Stats())
	watching, stopWatching := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { orders.WatchBacklog(watching, backlogEvery, base.Log) })
	reconciler := order.NewReconciler(orders, base.Log)
	stopReconciler := zookeeper.Lead(ctx, "reconciler", cfg.ReconcileMaxPause, reconciler.Run)
	return func() error {
		stopReconciler()
		stopWatching()
		watch.Wait()
		ctx, cancel := context.WithTimeout(ctx, cfg.ShutdownTimeout)
		defer cancel()
		return orders.Close(ctx)
	}
}

// registerOrders exports the counters of the domain, which does not know Prometheus. Adapters register their own.
func registerOrders(r prometheus.Registerer, orders *order.Stats) {
	with := promauto.With(r)
	took := with.NewHistogram(prometheus.HistogramOpts{
		Name:    "order_settled_seconds",
		Help:    "Time from an order's insert to its outcome, in the process that placed it.",
		Buckets: prometheus.ExponentialBuckets(0.001, 2, 14), NativeHistogramBucketFactor: 1.1,
	})
	orders.Observe = func(d time.Duration) { took.Observe(d.Seconds()) }

	counter := func(name, help string, labels prometheus.Labels, n *atomic.Int64) {
		with.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels},
			func() float64 { return float64(n.Load()) })
	}
	gauge := func(name, help string, n *atomic.Int64, unit float64) {
		with.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(n.Load()) * unit })
	}
	const settled = "Orders that reached their outcome in the process that placed them."
	counter("order_settled_total", settled, prometheus.Labels{"outcome": "confirmed"}, &orders.Confirmed)
	counter("order_settled_total", settled, prometheus.Labels{"outcome": "rejected"}, &orders.Rejected)
	counter("order_settled_total", settled, prometheus.Labels{"outcome": "cancelled"}, &orders.CancelledEarly)
	counter("order_replayed_total", "Requests answered with the order of an earlier one.", nil, &orders.Replayed)
	counter("order_unsettled_total", "Orders left to the reconciler.", nil, &orders.Unsettled)
	counter("order_shed_total", "Requests refused because too many were in flight.", nil, &orders.Shed)
	counter("order_flags_missed_total", "Orders whose operation flag could not be set in Redis.", nil, &orders.FlagsMissed)
	gauge("order_in_flight", "Orders being placed.", &orders.InFlight, 1)

	gauge("order_reconciler_backlog", "Unsettled orders of all replicas that did not change within the pending limit.",
		&orders.Backlog, 1)
	gauge("order_reconciler_oldest_seconds",
		"Time since the earliest last change of an order in the backlog.", &orders.OldestMillis,
		0.001)
	gauge("order_clock_late_seconds", "How late the process's clock is by the database's.",
		&orders.ClockLateMillis, 0.001)
	counter("books_checked_total", "Orders that the reconciler compared with their operations.", nil, &orders.BooksChecked)
	counter("books_disagreements_total", "Findings of the audit: orders, ledgers and levels that do not agree.", nil,
		&orders.BooksWrong)
}
