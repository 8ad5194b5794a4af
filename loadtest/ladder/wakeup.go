package ladder

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/stack"
)

// lockCounts are the watch events that ZooKeeper has sent for deleted nodes and for changed lists of children, the
// locks that the stock services have taken, and how often one of them woke for a lock that another had given up.
type lockCounts struct{ events, locks, handovers float64 }

func (c lockCounts) minus(d lockCounts) lockCounts {
	return lockCounts{c.events - d.events, c.locks - d.locks, c.handovers - d.handovers}
}

func (c lockCounts) plus(d lockCounts) lockCounts {
	return lockCounts{c.events + d.events, c.locks + d.locks, c.handovers + d.handovers}
}

// wakeups returns the watch events for each lock that was taken.
func (c lockCounts) wakeups() float64 {
	if c.locks == 0 {
		return 0
	}
	return c.events / c.locks
}

// Names of the counters of the server and the stock service.
const (
	deletedEvents  = "zk_sum_node_deleted_watch_count"
	childrenEvents = "zk_sum_node_children_watch_count"
	locksTaken     = "orderstock_stock_lock_wait_seconds"
	waitersWoken   = "orderstock_stock_lock_woken_total"
)

// countLocks reads the counters of ZooKeeper and of all stock services.
func countLocks(ctx context.Context, cfg Config, st *stack.Stack) (c lockCounts, err error) {
	server, err := monitor(ctx, cfg.Servers.ZooKeeper.Addr())
	if err != nil {
		return c, fmt.Errorf("read ZooKeeper's counters: %w", err)
	}
	c.events = server[deletedEvents] + server[childrenEvents]
	for _, s := range st.Stock {
		counts, err := s.Metrics(ctx)
		if err != nil {
			return c, fmt.Errorf("read the metrics of %s: %w", s.Name(), err)
		}
		c.locks += counts[locksTaken]
		c.handovers += counts[waitersWoken]
	}
	return c, nil
}

// monitor asks ZooKeeper for its counters with the command mntr.
func monitor(ctx context.Context, addr string) (_ map[string]float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	if _, err := io.WriteString(conn, "mntr"); err != nil {
		return nil, err
	}
	return readCounters(conn)
}

// readCounters reads lines of a name and a number, and skips other lines.
func readCounters(r io.Reader) (map[string]float64, error) {
	counters := map[string]float64{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 2 {
			continue
		}
		if v, err := strconv.ParseFloat(fields[1], 64); err == nil {
			counters[fields[0]] = v
		}
	}
	return counters, lines.Err()
}
