package deduct

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type lockMetrics struct {
	wait     prometheus.Histogram
	waiting  prometheus.Gauge
	failures prometheus.Counter
}

// newLockMetrics registers the metrics at r, if r is not nil.
func newLockMetrics(r prometheus.Registerer) lockMetrics {
	with := promauto.With(r)
	return lockMetrics{
		wait: with.NewHistogram(prometheus.HistogramOpts{
			Name: "stock_lock_wait_seconds", Help: "Time from asking for a lock to holding it.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9),
		}),
		waiting: with.NewGauge(prometheus.GaugeOpts{
			Name: "stock_lock_waiting", Help: "Requests of this process that wait for a lock.",
		}),
		failures: with.NewCounter(prometheus.CounterOpts{
			Name: "stock_lock_failures_total", Help: "Locks that could not be acquired in time.",
		}),
	}
}

type groupMetrics struct {
	waiting  prometheus.Gauge
	size     prometheus.Histogram
	seconds  prometheus.Histogram
	broken   prometheus.Counter
	unlocked prometheus.Counter
}

// newGroupMetrics registers the metrics at r, if r is not nil.
func newGroupMetrics(r prometheus.Registerer) groupMetrics {
	with := promauto.With(r)
	return groupMetrics{
		waiting: with.NewGauge(prometheus.GaugeOpts{
			Name: "stock_group_waiting", Help: "Operations of this process that wait for their group, or for its transaction.",
		}),
		size: with.NewHistogram(prometheus.HistogramOpts{
			Name: "stock_group_size", Help: "Operations carried out in one transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 9),
		}),
		seconds: with.NewHistogram(prometheus.HistogramOpts{
			Name: "stock_group_seconds", Help: "Time of one group's transaction.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 12),
		}),
		broken: with.NewCounter(prometheus.CounterOpts{
			Name: "stock_groups_broken_total", Help: "Groups that failed as a whole and were carried out one by one.",
		}),
		unlocked: with.NewCounter(prometheus.CounterOpts{
			Name: "stock_groups_unlocked_total",
			Help: "Groups carried out without a lock: of several partitions, or while the lock was not to be had.",
		}),
	}
}
