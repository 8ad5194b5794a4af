package deduct

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

var (
	lockSeconds = promauto.NewHistogram(prometheus.HistogramOpts{
		Name: "stock_lock_wait_seconds", Help: "Time from asking for a lock to holding it.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9),
	})
	lockFailures = promauto.NewCounter(prometheus.CounterOpts{
		Name: "stock_lock_failures_total", Help: "Locks that were not to be had in time.",
	})
	groupSize = promauto.NewHistogram(prometheus.HistogramOpts{
		Name: "stock_group_size", Help: "Operations carried out in one transaction.",
		Buckets: prometheus.ExponentialBuckets(1, 2, 9),
	})
	groupSeconds = promauto.NewHistogram(prometheus.HistogramOpts{
		Name: "stock_group_seconds", Help: "Time of one group's transaction.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 2, 12),
	})
	groupsBroken = promauto.NewCounter(prometheus.CounterOpts{
		Name: "stock_groups_broken_total", Help: "Groups that failed as a whole, so that each operation went by itself.",
	})
)
