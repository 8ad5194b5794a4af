package console

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/faults"
)

// noteArmed adds a fault to those of the run.
func (c *Console) noteArmed(a Action) *Strike {
	s := &Strike{What: a.Action, Where: a.Target, Status: "armed", ArmedMS: c.sinceMS(), over: make(chan struct{})}
	if a.Wire != "" {
		s.What += " the connection to " + a.Wire
	}
	if s.atStep = a.Step != "" && a.Step != faults.Around; s.atStep {
		s.What += " " + a.When + " " + a.Step
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.ID = strconv.Itoa(len(c.strikes) + 1)
	c.strikes = append(c.strikes, s)
	c.showStrikes()
	return s
}

// noteCounted notes that it is counted how often a fault strikes.
func (c *Console) noteCounted(s *Strike) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Counted = true
	c.showStrikes()
}

// armedAt returns a fault that is armed at a step of a replica and is not healed, or nil.
func (c *Console) armedAt(replica string) *Strike {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.strikes {
		if s.atStep && s.Status != "healed" && (s.Where == replica || s.Where == "") {
			return s
		}
	}
	return nil
}

// noteWhere notes at which replica a fault struck, if it could have struck at any.
func (c *Console) noteWhere(s *Strike, replica string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Where = replica
	c.showStrikes()
}

// forget removes a fault that could not be brought about.
func (c *Console) forget(s *Strike) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.strikes = slices.DeleteFunc(c.strikes, func(other *Strike) bool { return other == s })
	c.showStrikes()
}

// noteFired notes that a fault has struck n times, and reports whether these are the first.
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
	s.heal(now)
	c.showStrikes()
}

// heal ends a fault, unless it has ended; mu is held.
func (s *Strike) heal(now int64) {
	if s.Status != "healed" {
		s.Status, s.HealedMS = "healed", now
		close(s.over)
	}
}

// healedWithin waits until the fault is healed, but no longer than limit.
func (s *Strike) healedWithin(limit time.Duration) bool {
	select {
	case <-s.over:
		return true
	case <-time.After(limit):
		return false
	}
}

// noteEnded marks the faults at a replica or a server as healed for which ended returns true.
func (c *Console) noteEnded(target string, ended func(*Strike) bool) {
	now := c.sinceMS()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.strikes {
		if s.Where == target && ended(s) {
			s.heal(now)
			delete(c.heals, s)
		}
	}
	c.showStrikes()
}

// endsByRestart and endsByResume report whether a fault at a process ends when the process restarts or resumes.
func endsByRestart(s *Strike) bool {
	return strings.HasPrefix(s.What, "arm-") ||
		slices.Contains([]string{"kill", "pause", "kill-server", "pause-server"}, s.What)
}

func endsByResume(s *Strike) bool {
	return s.What == "pause" || strings.HasPrefix(s.What, "arm-pause") && s.Fired > 0
}

// forgetStrikes ends all faults, and empties their list for a new run; mu is held.
func (c *Console) forgetStrikes() {
	for _, s := range c.strikes {
		s.heal(0)
	}
	c.strikes = []*Strike{}
	clear(c.heals)
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
		case <-s.over:
			return
		case <-tick.C:
		}
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		n, err := fired(limited)
		cancel()
		if err == nil && n > 0 && c.noteFired(s, n) {
			c.say("fault", "fired: %s %s", s.What, s.Where)
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
