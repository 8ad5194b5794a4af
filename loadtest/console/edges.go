package console

import (
	"context"
	"fmt"

	"orderstock/loadtest/history"
	"orderstock/loadtest/lab"
)

// edges maps the steps that the fault build counts to the edges of the picture.
var edges = map[string]string{
	"insert-order/after": "order_mysql",
	"set-flag/after":     "order_redis",
	"call-stock/before":  "order_stock",
	"take-flag/after":    "stock_redis",
	"acquire-lock/after": "stock_zookeeper",
	"commit/after":       "stock_mysql",
}

// readEdges adds up the steps that the replicas have taken. The counts of a replica
// that died are kept.
func (c *Console) readEdges(ctx context.Context, s *view) error {
	if c.lab == nil {
		return nil
	}
	for _, m := range s.members {
		if !m.replica.Running() || lab.Paused(m.replica) {
			continue
		}
		reached, err := m.replica.Reached(ctx)
		if err != nil {
			continue // it is starting, or it has died: the tiles show that
		}
		s.count(m.name, m.replica.Pid(), reached)
	}
	sums := s.edgeCounts()
	if m := c.shown().meter; m != nil && m.fires(history.PathOrder) {
		sums["client_order"] = m.live.Counts().Orders
	}
	c.hub.set(secEdges, sums)
	return nil
}

// count records how often a replica's process has passed each step.
func (s *view) count(replica string, pid int, reached map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps[fmt.Sprintf("%s/%d", replica, pid)] = reached
}

// edgeCounts adds up the steps of all processes, dead ones included.
func (s *view) edgeCounts() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	sums := map[string]int64{}
	for _, reached := range s.steps {
		for step, edge := range edges {
			sums[edge] += int64(reached[step])
		}
	}
	return sums
}
