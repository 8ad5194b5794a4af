package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
)

// Play starts a variant of a published fault and returns the run. A broken variant that passes is tried again, with up
// to three seeds in all, and with fewer buyers if it is too slow. seed is the first; 0 is the default or, for another
// variant just after the broken one, its seed. There are as many buyers as in the run just before, if that played the
// same fault. The error is an *httpapi.Problem: the request is invalid, or another run is in progress.
func (c *Console) Play(letter string, v tables.Side, seed uint64) (tables.Run, error) {
	if c.lab == nil {
		return tables.Run{}, conflict("%s", notHere)
	}
	f, err := tables.Find(letter)
	if err != nil {
		return tables.Run{}, invalid("%v", err)
	}
	if !slices.Contains(tables.Sides, v) {
		return tables.Run{}, invalid("variant %q: want broken, fixed or here", v)
	}
	if last, _ := c.player.Running(); last.Fault == f.Letter {
		if seed == 0 && v != tables.Broken && last.Variant == tables.Broken {
			seed = last.Seed
		}
		f = f.Among(last.Buyers)
	}
	return c.begin(f.Play(v, cmp.Or(seed, tables.FirstSeed)))
}

// Fire starts a load of one's own and returns the run. In a lab it restarts the services with its strategy;
// otherwise they stay as they are. The error is an *httpapi.Problem.
func (c *Console) Fire(o tables.Custom) (tables.Run, error) {
	if err := o.Validate(); err != nil {
		return tables.Run{}, err
	}
	if c.lab == nil && o.Strategy != "" {
		return tables.Run{}, conflict("the running stock services keep their strategy; leave it empty here")
	}
	if c.lab == nil && len(o.Faults) > 0 {
		return tables.Run{}, conflict("%s", notOurs)
	}
	return c.begin(o.Play(c.program, c.lab != nil))
}

// begin starts a run unless another is in progress.
func (c *Console) begin(e trial.Experiment, run tables.Run) (tables.Run, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		return tables.Run{}, conflict("another run is in progress; wait until it is judged, or stop it")
	}
	if c.ctx.Err() != nil {
		return tables.Run{}, conflict("the console is closing")
	}
	phase := trial.Starting
	if c.lab == nil {
		phase, run.Strategy = trial.Firing, c.view.Strategy
	}
	c.feed.set("phase", phase)
	ctx, stop := context.WithCancelCause(c.ctx)
	c.stop = func() { stop(fire.ErrStopped) }
	c.working.Go(func() {
		defer stop(nil)
		_, _ = c.player.Play(ctx, e, run) // it shows an error
		c.mu.Lock()
		c.stop = nil
		c.mu.Unlock()
		c.idle()
	})
	return run, nil
}

// idle shows that another run may begin, unless it has.
func (c *Console) idle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop == nil {
		c.feed.set("phase", trial.Idle)
		c.feed.set("doing", "")
	}
}

// Stop ends the current run: no more orders are sent, and the run so far is judged.
func (c *Console) Stop() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop == nil {
		return "nothing is running", nil
	}
	c.stop()
	return "stopping; the run so far is judged", nil
}

// breakable returns the reason why nothing can be broken or healed now.
func (c *Console) breakable() error {
	if c.lab == nil {
		return conflict("%s", notOurs)
	}
	_, err := c.serving()
	return err
}

// Act runs an action now, shows it as a fault, and describes it. The error says why it is refused.
func (c *Console) Act(ctx context.Context, a trial.Action) (string, error) {
	if err := c.breakable(); err != nil {
		return "", err
	}
	defer c.showCommand()
	return a.Words(), c.player.Board.Act(ctx, a)
}

// showCommand shows the command of the run in progress, with the acts by hand.
func (c *Console) showCommand() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if run, on := c.player.Running(); on {
		c.feed.set("run", run)
	}
}

// Heal ends every lasting fault, and restarts dead replicas and servers.
func (c *Console) Heal(ctx context.Context) (string, error) {
	if err := c.breakable(); err != nil {
		return "", err
	}
	defer c.showCommand()
	return "everything is whole again", c.player.Board.Heal(ctx)
}

// beginTry shows a try that begins.
func (c *Console) beginTry(run tables.Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for section, value := range map[string]any{
		"run": run, "doing": "", "verdict": nil, "hero": nil, "scene": nil, "compare": nil, "edges": map[string]int{},
		"books": tables.Books{Rows: []tables.BookRow{}},
	} {
		c.feed.set(section, value)
	}
}

// show shows a section of the player. Books that were read before the end of a run make no headline after it.
func (c *Console) show(section string, value any) {
	switch v := value.(type) {
	case tables.Run:
		c.beginTry(v)
		return
	case *tables.Record:
		c.showRecord(v)
		return
	case trial.Services:
		c.starting()
		return
	case trial.Started:
		c.started(v)
		return
	case tables.Headline:
		c.mu.Lock()
		defer c.mu.Unlock()
	}
	c.feed.set(section, value)
}

// showRecord shows a judged run, with the orders as they ended, some of them long after they began.
func (c *Console) showRecord(r *tables.Record) {
	if at := c.current(); at != nil {
		ctx, cancel := context.WithTimeout(c.ctx, 10*time.Second)
		defer cancel()
		at.tally.forget()
		_, _ = c.showStatuses(ctx, at) // they are read again
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for section, value := range map[string]any{
		"books": r.Books, "run": r.Run, "samples": r.Samples, "verdict": r.Verdict, "hero": r.Run.Headline(),
		"scene": r.Scene, "compare": r.Compare, "runs": c.player.Runs.List(),
	} {
		c.feed.set(section, value)
	}
}

// starting shows that the lab's services are about to be replaced.
func (c *Console) starting() {
	c.mu.Lock()
	before := c.view
	c.view, c.down = nil, false
	c.showStarted(stateStarting)
	c.mu.Unlock()
	if before != nil {
		before.close()
	}
	c.feed.set("phase", trial.Starting)
	c.feed.set("doing", "starting two order and two stock services on empty databases")
}

// started shows the services that run, or that they do not start.
func (c *Console) started(v trial.Started) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.Err == nil {
		c.view, v.Err = labView(c.lab, v.Services)
	}
	if v.Err != nil {
		c.down = true
		c.showStarted(stateDead)
		return
	}
	c.feed.set("doing", "")
}

// showStarted shows the replicas that startServices starts, all in one state, and no order of the run before; mu is
// held.
func (c *Console) showStarted(state string) {
	var all []Member
	for _, kind := range []string{"order", "stock"} {
		for n := range 2 {
			all = append(all, Member{Name: fmt.Sprintf("%s-%d", kind, n+1), Kind: kind, State: state})
		}
	}
	c.feed.set("replicas", all)
	c.feed.set("statuses", map[string]int64{})
}
