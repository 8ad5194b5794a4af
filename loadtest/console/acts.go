package console

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"orderstock/loadtest/act"
	"orderstock/loadtest/faults"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
)

// own makes the console the owner of a lab; nil is none.
func (c *Console) own(l *system.System) {
	c.lab = l
	c.acts = &act.Set{
		Lab: l, SinceMS: c.sinceMS, Say: c.say, Show: func(all []act.Strike) { c.hub.set(secFaults, all) },
	}
}

// breakable returns the reason why nothing can be broken or healed now.
func (c *Console) breakable() error {
	if c.lab == nil {
		return conflict("%s", notOurs)
	}
	_, err := c.running()
	return err
}

// Act runs an action now, records it as a strike and describes it. The error says why it is refused.
func (c *Console) Act(ctx context.Context, a act.Action) (string, error) {
	if err := c.breakable(); err != nil {
		return "", err
	}
	armed := c.acts.Add(a, act.New(c.lab, a))
	if err := armed.Arm(ctx); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() == nil {
		c.working.Go(func() { armed.Watch(c.ctx) })
	}
	return a.Words(), nil
}

// Heal ends every lasting fault, and restarts dead replicas and servers.
func (c *Console) Heal(ctx context.Context) (string, error) {
	if err := c.breakable(); err != nil {
		return "", err
	}
	return "everything is whole again", c.acts.Heal(ctx)
}

// strikeDuring runs the faults of the scenario, each at its time.
func (c *Console) strikeDuring(ctx context.Context, p *plan, scene Scenario, done <-chan struct{}) {
	var striking sync.WaitGroup
	defer striking.Wait()
	if p.fault != nil && p.fault.Strike != "" {
		striking.Go(func() {
			if err := c.strikeCell(ctx, p.fault.Strike, scene, done); err != nil && ctx.Err() == nil {
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
				c.say("error", "%s: %v", a.Words(), err)
			}
		})
	}
}

// strikeCell arms a cell of the fault matrix, waits until it has struck and its time is over, and heals it, unless it
// is healed before.
func (c *Console) strikeCell(ctx context.Context, name string, scene Scenario, done <-chan struct{}) error {
	cell, ok := faults.Find(name)
	if !ok {
		return fmt.Errorf("no cell %q in the fault matrix", name)
	}
	seed, _ := scene.seed() // validated
	a := act.Action{Action: cell.Fault, Step: string(cell.Step), When: string(cell.When)}
	armed := c.acts.Add(a, faults.New(c.lab, cell, seed))
	t := trial.Trial{Break: armed, After: 500 * time.Millisecond, Over: armed.Over()}
	s, err := t.Disturb(ctx, done)
	if errors.Is(err, trial.ErrOver) {
		return nil
	}
	if s.Fired == 0 && !s.Armed.IsZero() {
		c.say("fault", "never struck: %s", a.Words())
	}
	return err
}
