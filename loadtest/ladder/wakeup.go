package ladder

import (
	"context"
	"fmt"
)

// lockCounts are the watch events that ZooKeeper has sent for deleted nodes and for changed lists of children, the
// locks that the stock services have taken, and how often one of them woke for a lock that another had given up.
type lockCounts struct{ events, locks, handovers float64 }

// add adds the differences between two readings.
func (c *lockCounts) add(before, after lockCounts) {
	c.events += after.events - before.events
	c.locks += after.locks - before.locks
	c.handovers += after.handovers - before.handovers
}

// wakeups returns the watch events for each lock that was taken.
func (c lockCounts) wakeups() float64 {
	if c.locks == 0 {
		return 0
	}
	return c.events / c.locks
}

// countLocks reads the counters of ZooKeeper and of all stock services. Without a stack it counts nothing.
func (c *contestant) countLocks(ctx context.Context) (n lockCounts, err error) {
	if c.stack == nil {
		return n, nil
	}
	server, err := c.stack.Servers.ZooKeeper.Monitor(ctx)
	if err != nil {
		return n, err
	}
	n.events = server["zk_sum_node_deleted_watch_count"] + server["zk_sum_node_children_watch_count"]
	for _, s := range c.stack.Stock {
		counts, err := s.Metrics(ctx)
		if err != nil {
			return n, fmt.Errorf("read the metrics of %s: %w", s.Name(), err)
		}
		n.locks += counts["orderstock_stock_lock_wait_seconds"]
		n.handovers += counts["orderstock_stock_lock_woken_total"]
	}
	return n, nil
}
