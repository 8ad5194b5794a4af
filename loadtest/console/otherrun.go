package console

import (
	"context"
	"time"
)

// quiet is how long after the last order another process's run counts as over.
const quiet = 5 * time.Second

// bystander shows the rates of a run that another process fires, from the database. That run is not judged, since the
// console does not know the answers to its clients.
func (c *Console) bystander() func(context.Context, *view) error {
	var (
		last          map[string]int64
		at, begun     time.Time
		placed, heard int64 // orders that others placed, at the last read and when the run began
		byHand        int   // orders that were placed by hand here
		moved         time.Time
	)
	return func(ctx context.Context, s *view) error {
		if c.lab != nil {
			return nil
		}
		counts, err := c.showStatuses(ctx, s)
		if err != nil {
			return err
		}
		c.mu.Lock()
		own := c.stop != nil
		c.mu.Unlock()
		placing, hand := c.byHand.count() // after the read: an order by hand that it counts is known here
		if placing > 0 {
			return nil
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
		sample := Sample{Confirmed: rate("CONFIRMED"), Rejected: rate("REJECTED")}
		sample.OrdersPerS = sample.Confirmed + sample.Rejected
		first := last == nil
		last, at = counts, now
		switch {
		case own:
			begun = time.Time{}
			return nil
		case first:
			return nil
		case placed > before:
			moved = now
			if begun.IsZero() {
				if !c.watchOther(now) {
					return nil
				}
				begun, heard = now, before
			}
		case begun.IsZero():
			return nil
		case now.Sub(moved) > quiet:
			begun = time.Time{}
			c.otherStopped(placed - heard)
			return nil
		}
		sample.TMS = now.Sub(begun).Milliseconds()
		c.hub.sample(sample)
		return nil
	}
}

// watchOther shows a run that another process fires, replacing the console's last one. It returns false if the console
// has begun to fire itself.
func (c *Console) watchOther(now time.Time) bool {
	run := Run{ID: "other", Title: "orders of another process", Attempt: 1, Attempts: 1, StartedAt: now.UTC()}
	c.mu.Lock()
	if c.stop != nil {
		c.mu.Unlock()
		return false
	}
	c.hub.restart()
	c.sale = &sale{live: true, began: now, before: c.metrics}
	for section, value := range map[string]any{
		secRun: run, secVerdict: nil, secHero: nil, secCompare: nil, secDoing: "another process fires at this stack",
	} {
		c.hub.set(section, value)
	}
	c.mu.Unlock()
	c.say("run", "another process fires at this stack")
	return true
}

// otherStopped notes that another process has ended its run, unless the console has begun one.
func (c *Console) otherStopped(placed int64) {
	c.mu.Lock()
	if c.stop != nil {
		c.mu.Unlock()
		return
	}
	c.hub.set(secPhase, phaseIdle)
	c.hub.set(secDoing, "")
	c.mu.Unlock()
	c.say("run", "the other process has stopped; it placed %d orders", placed)
}
