package console

import (
	"context"
	"fmt"
	"sync"

	"orderstock/loadtest/system"
	"orderstock/loadtest/tables"
)

// figures are the services' metrics by name, as system.Metrics reads them, summed up over replicas.
type figures map[string]float64

// waits counts the requests that do not show in a lock's queue.
type waits struct {
	local    int // inside the stock services, behind a node in ZooKeeper's queue or for a group's transaction
	unlocked int // groups that went on without their locks since the run began
}

// metricsReader reads the metrics of the replicas that serve them: the waits and, if the console is only attached, how
// often each edge of the picture was taken since the run began.
func (c *Console) metricsReader() func(context.Context, *view) error {
	var (
		before figures // in a lab none: the services of each run count from zero
		of     *tables.Meter
	)
	return func(ctx context.Context, s *view) error {
		now, m := s.figures(ctx), c.player.Meter()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.lab == nil && (before == nil || m != of) {
			before, of = now, m
		}
		c.waits = waits{
			local:    int(now["orderstock_stock_lock_waiting"] + now["orderstock_stock_group_waiting"]),
			unlocked: int(now.since(before, "orderstock_stock_groups_unlocked_total")),
		}
		if c.lab == nil {
			c.feed.set("edges", now.edges(before))
		}
		return nil
	}
}

// figures sums up the metrics of the replicas.
func (s *view) figures(ctx context.Context) figures {
	var (
		members = s.replicas(ctx)
		each    = make([]figures, len(members))
		asked   sync.WaitGroup
	)
	for i, m := range members {
		if m.ops == "" || m.replica != nil && (!m.replica.Running() || m.replica.Paused()) {
			continue
		}
		// The tiles show a replica that does not answer.
		asked.Go(func() { each[i], _ = system.Metrics(ctx, probe, m.ops+"/metrics") })
	}
	asked.Wait()
	now := figures{}
	for _, of := range each {
		for name, value := range of {
			now[name] += value
		}
	}
	return now
}

// since returns how much a counter has grown. A replica that started again counts from zero.
func (f figures) since(before figures, name string) int64 { return max(0, int64(f[name]-before[name])) }

// edges returns how often each edge was taken since before. An edge that no
// metric counts is left out.
func (f figures) edges(before figures) map[string]int64 {
	written := []string{"orderstock_order_settled_total", "orderstock_order_unsettled_total"}
	counts := map[string]int64{}
	for edge, names := range map[string][]string{
		"client_order":    append([]string{"orderstock_order_replayed_total", "orderstock_order_shed_total"}, written...),
		"order_mysql":     written,
		"order_stock":     {"orderstock_order_stock_tries_total"},
		"stock_zookeeper": {"orderstock_stock_lock_wait_seconds"},
		"stock_mysql":     {"orderstock_stock_group_seconds"},
	} {
		for _, name := range names {
			if _, known := f[name]; known {
				counts[edge] += f.since(before, name)
			}
		}
	}
	return counts
}

// edges maps the steps that the fault build counts to the edges of the picture.
var edges = map[string]string{
	"insert-order/after": "order_mysql",
	"set-flag/after":     "order_redis",
	"call-stock/before":  "order_stock",
	"take-flag/after":    "stock_redis",
	"acquire-lock/after": "stock_zookeeper",
	"commit/after":       "stock_mysql",
}

// readEdges adds up the steps that the replicas of a lab have taken. The counts of a replica that died are kept.
func (c *Console) readEdges(ctx context.Context, s *view) error {
	for _, m := range s.members {
		if !m.replica.Running() || m.replica.Paused() {
			continue
		}
		reached, err := m.replica.Reached(ctx)
		if err != nil {
			continue // it is starting, or it has died: the tiles show that
		}
		s.steps[fmt.Sprintf("%s/%d", m.name, m.replica.Pid())] = reached
	}
	sums := map[string]int64{}
	for _, reached := range s.steps {
		for step, edge := range edges {
			sums[edge] += int64(reached[step])
		}
	}
	if n, whole := c.player.Meter().Orders(); whole {
		sums["client_order"] = n
	}
	c.feed.set("edges", sums)
	return nil
}
