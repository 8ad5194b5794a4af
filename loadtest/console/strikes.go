package console

import (
	"context"
	"slices"
	"strconv"
	"time"

	"orderstock/loadtest/faults"
)

// noteArmed adds a fault to those of the run.
func (c *Console) noteArmed(a Action) *Strike {
	s := &Strike{What: a.Action, Where: a.Target, Status: "armed", ArmedMS: c.sinceMS()}
	if a.Wire != "" {
		s.What += " the connection to " + a.Wire
	}
	if a.Step != "" && a.Step != faults.Around {
		s.What += " " + a.When + " " + a.Step
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.ID = strconv.Itoa(len(c.strikes) + 1)
	c.strikes = append(c.strikes, s)
	c.showStrikes()
	return s
}

// noteWhere notes at which replica a fault struck that could have struck at any.
func (c *Console) noteWhere(s *Strike, replica string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Where = replica
	c.showStrikes()
}

// forget takes a fault back that could not be brought about.
func (c *Console) forget(s *Strike) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.strikes = slices.DeleteFunc(c.strikes, func(other *Strike) bool { return other == s })
	c.showStrikes()
}

// noteFired notes that a fault has struck n times. The first time is kept.
func (c *Console) noteFired(s *Strike, n int) (first bool) {
	now := c.sinceMS()
	c.mu.Lock()
	defer c.mu.Unlock()
	if n <= s.Fired {
		return false
	}
	first = s.Fired == 0
	s.Fired = n
	if first {
		s.FiredMS = now
		if s.Status == "armed" {
			s.Status = "fired"
		}
	}
	c.showStrikes()
	return first
}

func (c *Console) noteHealed(s *Strike) {
	now := c.sinceMS()
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.Status != "healed" {
		s.Status, s.HealedMS = "healed", now
	}
	c.showStrikes()
}

// showStrikes sends the faults to the page; mu is held.
func (c *Console) showStrikes() {
	c.hub.set(secFaults, c.strikes)
}

// awaitStrike counts how often an armed fault strikes until it is healed.
func (c *Console) awaitStrike(ctx context.Context, s *Strike, fired func(context.Context) (int, error)) {
	tick := time.NewTicker(interval / 2)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		n, err := fired(limited)
		cancel()
		if err == nil && n > 0 && c.noteFired(s, n) {
			c.say("fault", "fired: %s %s", s.What, s.Where)
		}
		c.mu.Lock()
		healed := s.Status == "healed"
		c.mu.Unlock()
		if healed {
			return
		}
	}
}

// recordedStrikes returns copies of the faults of the run.
func (c *Console) recordedStrikes() []*Strike {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*Strike, len(c.strikes))
	for i, s := range c.strikes {
		copied := *s
		all[i] = &copied
	}
	return all
}
