package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"orderstock/loadtest/faults"
)

// noteArmed adds a fault to the run.
func (c *Console) noteArmed(a Action) *Strike {
	s := &Strike{
		What: a.Action, Where: a.Target, Wire: a.Wire, Status: "armed", ArmedMS: c.sinceMS(), over: make(chan struct{}),
	}
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

// noteWhere notes the replica that a fault struck, if it could have struck any.
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

// strikeDuring runs the faults of the scenario, each at its time.
func (c *Console) strikeDuring(ctx context.Context, p *plan, scene Scenario, done <-chan struct{}) {
	var striking sync.WaitGroup
	defer striking.Wait()
	if p.fault != nil && p.fault.Strike != "" {
		striking.Go(func() {
			if err := c.strikeCell(ctx, p.fault.Strike, scene, done); err != nil {
				c.say("error", "%v", err)
			}
		})
	}
	if p.fault != nil && p.fault.MinusFive {
		striking.Go(func() {
			if err := c.orderMinusFive(ctx); err != nil {
				c.say("error", "%v", err)
			}
		})
	}
	for _, a := range scene.Faults {
		striking.Go(func() {
			select {
			case <-time.After(time.Duration(a.AfterMS) * time.Millisecond):
			case <-done:
				c.say("fault", "not brought about, as the run was over before: %s", a)
				return
			}
			if _, err := c.Act(ctx, a); err != nil {
				c.say("error", "%s: %v", a.words(), err)
			}
		})
	}
}

// strikeCell arms a cell of the fault matrix, waits until it has struck and its time is over, and heals it, unless it
// is healed before.
func (c *Console) strikeCell(ctx context.Context, name string, scene Scenario, done <-chan struct{}) error {
	select {
	case <-time.After(500 * time.Millisecond):
	case <-done:
		return nil
	}
	cell, ok := faults.Find(name)
	if !ok {
		return fmt.Errorf("no cell %q in the fault matrix", name)
	}
	seed, _ := scene.seed() // validated
	f := faults.New(c.lab, cell, seed)
	s := c.noteArmed(Action{Action: cell.Fault, Step: string(cell.Step), When: string(cell.When)})
	c.noteCounted(s)
	c.say("fault", "armed: %s %s %s", cell.Fault, string(cell.When), string(cell.Step))
	c.acting.Lock()
	err := f.Arm(ctx)
	c.mu.Lock()
	c.heals[s] = remedy{healReplicas, f.Heal}
	c.mu.Unlock()
	c.acting.Unlock()
	fired := 0
	for begun := time.Now(); err == nil && fired == 0 && time.Since(begun) < strikeWithin; {
		if fired, err = f.Fired(ctx); fired == 0 && s.healedWithin(20*time.Millisecond) { // a poll of another process
			break
		}
	}
	if fired > 0 && c.noteFired(s, fired) {
		if at := c.away(); at != "" {
			c.noteWhere(s, at)
		}
		c.say("fault", "fired: %s %s", s.What, s.Where)
		s.healedWithin(f.Hold())
		if n, err := f.Fired(ctx); err == nil {
			c.noteFired(s, n)
		}
	}
	c.acting.Lock()
	defer c.acting.Unlock()
	healing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	err = errors.Join(err, c.healAt(healing, healReplicas, s))
	if fired == 0 {
		c.say("fault", "never struck: %s %s %s", cell.Fault, string(cell.When), string(cell.Step))
	}
	return err
}

// away returns the first replica that is dead or paused, or "".
func (c *Console) away() string {
	for _, r := range c.lab.Replicas() {
		if !r.Running() || paused(r.Pid()) {
			return r.Name()
		}
	}
	return ""
}

// strikeWithin is how long an armed fault may wait for its step.
const strikeWithin = 6 * time.Second
