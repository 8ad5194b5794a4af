package console

import (
	"context"
	"fmt"
	"time"

	"orderstock/loadtest/tables"
)

// showStatuses shows how many orders there are of each status.
func (c *Console) showStatuses(ctx context.Context, s *view) (map[string]int64, error) {
	return s.tally.show(ctx, s.orders, func(counts map[string]int64) { c.feed.set("statuses", counts) })
}

// flowReader reads how many orders there are of each status, how many ended with each commit and, if attached, what
// another process fires.
func (c *Console) flowReader() func(context.Context, *view) error {
	commits, others := c.commitsReader(), c.othersReader()
	return func(ctx context.Context, s *view) error {
		statuses, err := c.showStatuses(ctx, s)
		if err != nil {
			return err
		}
		if c.lab == nil {
			others(statuses)
		}
		return commits(ctx, s, statuses)
	}
}

// commitsReader shows how many orders end with each commit, at most once a second.
func (c *Console) commitsReader() func(context.Context, *view, map[string]int64) error {
	var (
		last, orders int64
		at           time.Time
	)
	return func(ctx context.Context, s *view, statuses map[string]int64) error {
		now := time.Now()
		if now.Sub(at) < time.Second {
			return nil
		}
		var name string
		var n int64 // since the server started
		if err := s.orders.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Com_commit'").Scan(&name, &n); err != nil {
			return fmt.Errorf("count commits: %w", err)
		}
		ended := statuses["CONFIRMED"] + statuses["REJECTED"] + statuses["CANCELLED"]
		if seconds := now.Sub(at).Seconds(); !at.IsZero() && n >= last && ended >= orders {
			commits := Commits{PerS: float64(n-last) / seconds}
			if n > last {
				commits.OrdersPerCommit = float64(ended-orders) / float64(n-last)
			}
			c.feed.set("commits", commits)
		}
		last, orders, at = n, ended, now
		return nil
	}
}

// quiet is how long after the last order another process's run counts as over.
const quiet = 5 * time.Second

// othersReader shows the rates of a run that another process fires, from the numbers of orders. That run is not judged,
// since the console does not know the answers to its clients.
func (c *Console) othersReader() func(counts map[string]int64) {
	var (
		last          map[string]int64
		at, begun     time.Time
		placed, heard int64 // orders that others placed, at the last read and when the run began
		byHand        int   // orders that were placed by hand here
		moved         time.Time
	)
	return func(counts map[string]int64) {
		placing, hand := c.byHand.count() // after the read: an order by hand that it counts is known here
		if placing > 0 {
			return
		}
		now := time.Now()
		before, took := placed, now.Sub(at).Seconds()
		placed = -int64(hand)
		for _, n := range counts {
			placed += n
		}
		if hand > byHand { // the read may not count them yet
			placed, byHand = max(placed, before), hand
		}
		rate := func(status string) float64 { return float64(counts[status]-last[status]) / took }
		sample := tables.Sample{Confirmed: rate("CONFIRMED"), Rejected: rate("REJECTED")}
		sample.OrdersPerS = sample.Confirmed + sample.Rejected
		first := last == nil
		last, at = counts, now
		switch {
		case c.fires():
			begun = time.Time{}
			return
		case first:
			return
		case placed > before:
			moved = now
			if begun.IsZero() {
				if !c.watchOther(now) {
					return
				}
				begun, heard = now, before
			}
		case begun.IsZero():
			return
		case now.Sub(moved) > quiet:
			begun = time.Time{}
			c.idle()
			c.player.Say("run", "the other process has stopped; it placed %d orders", placed-heard)
			return
		}
		sample.TMS = tables.Millis(now.Sub(begun).Milliseconds())
		c.feed.set("sample", sample)
	}
}

// fires reports whether this console has a run in progress.
func (c *Console) fires() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stop != nil
}

// watchOther shows a run that another process fires, replacing the console's last one. It returns false if the console
// has begun to fire itself.
func (c *Console) watchOther(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		return false
	}
	c.player.Restart(tables.Watch(now))
	for section, value := range map[string]any{
		"run":     tables.Run{ID: "other", At: now.UTC(), Title: "orders of another process", Attempt: 1, Attempts: 1},
		"verdict": nil, "hero": nil, "scene": nil, "compare": nil, "doing": "another process fires at this stack",
	} {
		c.feed.set(section, value)
	}
	c.player.Say("run", "another process fires at this stack")
	return true
}
