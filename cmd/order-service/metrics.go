package main

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"orderstock/order-service/order"
)

// registerOrders exports the counters of the domain, which does not know Prometheus. Adapters register their own.
func registerOrders(r prometheus.Registerer, orders *order.Stats) {
	with := promauto.With(r)
	took := with.NewHistogram(prometheus.HistogramOpts{
		Name:    "order_settled_seconds",
		Help:    "Time from an order's insert to its first end, in the process that placed it.",
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
	const settled = "Orders that reached their first end in the process that placed them."
	counter("order_settled_total", settled, prometheus.Labels{"end": "confirmed"}, &orders.Confirmed)
	counter("order_settled_total", settled, prometheus.Labels{"end": "rejected"}, &orders.Rejected)
	counter("order_settled_total", settled, prometheus.Labels{"end": "cancelled"}, &orders.CancelledEarly)
	counter("order_replayed_total", "Requests answered with the order of an earlier one.", nil, &orders.Replayed)
	counter("order_unsettled_total", "Orders left to the reconciler.", nil, &orders.Unsettled)
	counter("order_shed_total", "Requests refused because too many were in flight.", nil, &orders.Shed)
	counter("order_cancellations_total", "Completed cancellations.", nil, &orders.Cancelled)
	counter("order_flags_missed_total", "Orders whose operation flag could not be set in Redis.", nil, &orders.FlagsMissed)
	gauge("order_in_flight", "Orders being placed.", &orders.InFlight, 1)

	gauge("order_reconciler_leads", "1 on the replica that reconciles.", &orders.Leads, 1)
	gauge("order_reconciler_backlog", "Unsettled orders of all replicas that did not change within the pending limit.",
		&orders.Backlog, 1)
	gauge("order_reconciler_oldest_seconds",
		"Time since the earliest last change of an order in the backlog.", &orders.OldestMillis,
		0.001)
	gauge("order_clock_late_seconds", "How late the process's clock is by the database's.",
		&orders.ClockLateMillis, 0.001)
	counter("order_reconciler_rounds_total", "Rounds of the reconciler.", nil, &orders.Rounds)
	counter("books_checked_total", "Orders that the reconciler compared with their operations.", nil, &orders.BooksChecked)
	counter("books_disagreements_total", "Findings of the audit: orders, ledgers and levels that do not agree.", nil,
		&orders.BooksWrong)
	counter("order_reconciled_total", "Orders that the reconciler brought to an end.", nil, &orders.Reconciled)
}
