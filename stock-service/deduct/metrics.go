package deduct

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"orderstock/pkg/zklock"
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
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9), NativeHistogramBucketFactor: 1.1,
		}),
		waiting: with.NewGauge(prometheus.GaugeOpts{
			Name: "stock_lock_waiting", Help: "Requests of this process that wait for a lock.",
		}),
		failures: with.NewCounter(prometheus.CounterOpts{
			Name: "stock_lock_failures_total", Help: "Locks that could not be acquired in time.",
		}),
	}
}

// newLockHooks returns hooks that count grants, hand-overs and losses of locks, with metrics registered at r, if r
// is not nil.
func newLockHooks(r prometheus.Registerer) zklock.Hooks {
	with := promauto.With(r)
	held := with.NewHistogram(prometheus.HistogramOpts{
		Name: "stock_lock_held_seconds", Help: "Time for which a lock was held.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9), NativeHistogramBucketFactor: 1.1,
	})
	counter := func(name, help string) prometheus.Counter {
		return with.NewCounter(prometheus.CounterOpts{Name: "stock_lock_" + name, Help: help})
	}
	lost := counter("lost_total", "Locks that were lost while held.")
	orphaned := counter("orphaned_nodes_total", "Queue nodes that could not be removed at once, and are gone.")
	woken := counter("woken_total", "Waiters that ZooKeeper woke.")
	handed := with.NewCounterVec(prometheus.CounterOpts{
		Name: "stock_lock_handovers_total",
		Help: "Grants of a lock, by whether it came from this process, without ZooKeeper.",
	}, []string{"local"})
	local, remote := handed.WithLabelValues("true"), handed.WithLabelValues("false")
	return zklock.Hooks{
		Woken:    func(string) { woken.Inc() },
		Held:     func(_ string, d time.Duration) { held.Observe(d.Seconds()) },
		Lost:     func(string, error) { lost.Inc() },
		Orphaned: func(string) { orphaned.Inc() },
		HandedOver: func(_ string, here bool) {
			if here {
				local.Inc()
				return
			}
			remote.Inc()
		},
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
			Name: "stock_group_size", Help: "Operations in one transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 9), NativeHistogramBucketFactor: 1.1,
		}),
		seconds: with.NewHistogram(prometheus.HistogramOpts{
			Name: "stock_group_seconds", Help: "Time of one group's transaction.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 12), NativeHistogramBucketFactor: 1.1,
		}),
		broken: with.NewCounter(prometheus.CounterOpts{
			Name: "stock_groups_broken_total", Help: "Groups that failed as a whole and were executed one by one.",
		}),
		unlocked: with.NewCounter(prometheus.CounterOpts{
			Name: "stock_groups_unlocked_total",
			Help: "Groups executed without their locks, because one was not granted in time.",
		}),
	}
}
