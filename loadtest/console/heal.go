package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/lab"
)

// Heal ends every lasting fault, and restarts dead replicas and servers.
func (c *Console) Heal(ctx context.Context) (string, error) {
	if c.lab == nil {
		return "", conflict("%s", notOurs)
	}
	if _, err := c.running(); err != nil {
		return "", err
	}
	c.acting.Lock()
	defer c.acting.Unlock()
	return "everything is whole again", c.heal(ctx)
}

// heal is Heal for a caller that holds acting. Faults that cannot be healed are tried again the next time.
func (c *Console) heal(ctx context.Context) error {
	c.mu.Lock()
	strikes := slices.Clone(c.strikes)
	c.mu.Unlock()
	errs := []error{c.restartServers(ctx)}
	for at := healServers; at <= healReplicas; at++ {
		for _, s := range strikes {
			errs = append(errs, c.healAt(ctx, at, s))
		}
	}
	for _, r := range c.lab.Replicas() { // a played fault may have killed any
		if err := restartReplica(ctx, r); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.Name(), err))
		}
	}
	err := errors.Join(errs...)
	if err != nil {
		c.say("error", "not healed: %v", err)
	} else if len(strikes) > 0 {
		c.say("fault", "healed: everything is whole again")
	}
	return err
}

// healAt undoes a strike if its remedy has this place in the order. A strike without a lasting effect has the last
// place.
func (c *Console) healAt(ctx context.Context, at int, s *Strike) error {
	c.mu.Lock()
	heal, lasts := c.heals[s]
	c.mu.Unlock()
	if lasts && heal.at != at || !lasts && at != healReplicas {
		return nil
	}
	if lasts {
		if err := heal.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimSpace(s.What+" "+s.Where), err)
		}
		c.mu.Lock()
		delete(c.heals, s)
		c.mu.Unlock()
	}
	c.noteHealed(s)
	return nil
}

// restartServers restarts dead servers and resumes paused ones.
func (c *Console) restartServers(ctx context.Context) error {
	var errs []error
	for _, p := range []lasting{c.lab.MySQL, c.lab.Redis, c.lab.ZooKeeper} {
		if err := restart(ctx, p); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Name(), err))
		}
	}
	return errors.Join(errs...)
}

// lasting is a process that can be restarted.
type lasting interface {
	Name() string
	Running() bool
	Pid() int
	Resume() error
	Restart(ctx context.Context) error
}

func restart(ctx context.Context, p lasting) error {
	if !p.Running() {
		return p.Restart(ctx)
	}
	if paused(p.Pid()) {
		return p.Resume()
	}
	return nil
}

// restartReplica makes a replica run with no rule armed. If a rule that is still armed kills or stops it again,
// restartReplica restarts it once more.
func restartReplica(ctx context.Context, r *lab.Replica) error {
	for {
		if err := restart(ctx, r); err != nil && r.Running() {
			return err
		}
		err := r.Disarm(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond): // it may not answer yet
		}
	}
}

// restartWithin is how long a restarted replica may take to be ready. It never is while it is cut off from MySQL, and
// nothing else can be done until then.
const restartWithin = 15 * time.Second
