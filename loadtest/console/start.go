package console

import (
	"context"
	"fmt"
	"maps"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/faults"
)

// startFirst starts the services unmodified, unless a run has already started its own.
func (c *Console) startFirst(ctx context.Context) error {
	return c.acts.Alone(func() error {
		if c.current() != nil {
			return nil
		}
		return c.start(ctx, catalogue.Variant{})
	})
}

// startServices restarts the lab's services as a variant, on empty databases. It restarts dead servers first, and
// ends all faults.
func (c *Console) startServices(ctx context.Context, v catalogue.Variant) error {
	return c.acts.Alone(func() error { return c.start(ctx, v) })
}

// start is startServices while no act is armed or healed.
func (c *Console) start(ctx context.Context, v catalogue.Variant) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("start services: %w", err)
		}
	}()
	if err := c.lab.RepairServers(ctx); err != nil {
		return err
	}
	c.acts.Forget()
	c.mu.Lock()
	before := c.view
	c.view, c.down = nil, false
	c.showStarted(stateStarting)
	c.mu.Unlock()
	if before != nil {
		before.close()
	}
	defer func() {
		if err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.down = true
			c.showStarted(stateDead)
		}
	}()
	c.hub.set(secPhase, phaseStarting)
	c.hub.set(secDoing, "starting two order and two stock services on empty databases")
	env := maps.Clone(faults.Env)
	maps.Copy(env, v.Env)
	maps.Copy(env, c.traces.env)
	env["MUTANT"] = v.Mutants
	open, err := c.lab.OpenSessions(ctx) // of the services that are killed now
	if err != nil {
		return err
	}
	expired, err := c.lab.ExpiredSessions(ctx)
	if err != nil {
		return err
	}
	if err := c.lab.StartServices(ctx, v.Strategy, env); err != nil {
		return err
	}
	s, err := labView(c.lab, v, env)
	if err != nil {
		return err
	}
	s.expired = expired + open
	c.mu.Lock()
	c.view = s
	if c.stop == nil {
		c.hub.set(secPhase, phaseIdle)
	}
	c.mu.Unlock()
	c.hub.set(secDoing, "")
	return nil
}

// showStarted shows the replicas that startServices starts, all in one state; mu is held.
func (c *Console) showStarted(state string) {
	var all []Member
	for _, kind := range []string{"order", "stock"} {
		for n := range 2 {
			all = append(all, Member{Name: fmt.Sprintf("%s-%d", kind, n+1), Kind: kind, State: state})
		}
	}
	c.hub.set(secReplicas, all)
}
