package console

import (
	"context"
	"errors"
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

// actsOf returns what breaks during a run.
func (c *Console) actsOf(p *plan, scene Scenario) (acts []trial.Timed) {
	add := func(at time.Duration, a trial.Act) {
		acts = append(acts, trial.Timed{At: at, Act: a, Optional: true})
	}
	if p.fault != nil && p.fault.Strike != "" {
		if cell, ok := faults.Find(p.fault.Strike); ok {
			a := act.Action{Action: cell.Fault, Step: string(cell.Step), When: string(cell.When)}
			add(500*time.Millisecond, c.acts.Add(a, faults.New(c.lab, cell, scene.Load.Mix.Seed)))
		}
	}
	if p.fault != nil && p.fault.MinusFive {
		add(0, &trial.Simple{Do: c.orderMinusFive})
	}
	for _, a := range scene.Faults {
		add(time.Duration(a.AfterMS)*time.Millisecond, lasting{c.acts.Add(a, act.New(c.lab, a))})
	}
	return acts
}

// lasting is an act that lasts until the run is over. The set heals it then, together with what was broken by hand.
type lasting struct{ *act.Armed }

// Hold implements trial.Act.
func (lasting) Hold() time.Duration { return trial.UntilOver }

// Heal implements trial.Act.
func (lasting) Heal(context.Context) error { return nil }

// sayStrike notes an act that failed, did not begin or did not strike.
func (c *Console) sayStrike(a trial.Act, s trial.Strike) {
	name := "an order for minus five pieces"
	if named, ok := a.(interface{ Words() string }); ok {
		name = named.Words()
	}
	switch {
	case errors.Is(s.Err, trial.ErrOver):
		c.say("fault", "not brought about, as the run was over before: %s", name)
	case s.Err != nil:
		c.say("error", "%s: %v", name, s.Err)
	case s.Fired == 0:
		c.say("fault", "never struck: %s", name)
	}
}
