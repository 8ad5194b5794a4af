package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/verify"
	"orderstock/stock-service/deduct/strategy"
)

// Verdict is the verdict on a run.
type Verdict = verify.Verdict

// attempts is the number of seeds that a broken variant gets before it counts as not caught: whether two buyers collide
// is a matter of chance.
const attempts = 3

// FaultInfo describes a published fault to the page.
type FaultInfo struct {
	Letter string `json:"letter"`
	Title  string `json:"title"`
	Says   string `json:"says"`
	Idea   string `json:"idea"`
	Fix    string `json:"fix"`
	Kind   string `json:"kind"` // "books" or "time"
	// BrokenSays and FixedSays describe the variants that differ from the fault alone and the product.
	BrokenSays string `json:"broken_says"`
	FixedSays  string `json:"fixed_says"`

	Playable bool   `json:"playable"`
	WhyNot   string `json:"why_not"`
}

// Faults returns the published faults.
func (c *Console) Faults() []FaultInfo {
	why := ""
	if c.lab == nil {
		why = notHere
	}
	all := make([]FaultInfo, len(catalogue.Published))
	for i, f := range catalogue.Published {
		all[i] = FaultInfo{
			Letter: f.Letter, Title: f.Title, Says: f.Says, Idea: strings.TrimSpace(f.Idea), Fix: f.Fix,
			Kind: f.Kind(), BrokenSays: f.Broken.Says, FixedSays: f.Fixed.Says, Playable: why == "", WhyNot: why,
		}
	}
	return all
}

// Play starts the broken or the fixed variant of a published fault and returns the run. A broken variant that passes is
// tried again, with up to three seeds in all. The error is a *problem.Problem: the request is invalid, or another run
// is in progress.
func (c *Console) Play(letter string, v catalogue.Side, seed string) (Run, error) {
	if c.lab == nil {
		return Run{}, conflict("%s", notHere)
	}
	f, err := catalogue.Find(letter)
	if err != nil {
		return Run{}, invalid("%v", err)
	}
	if v != catalogue.Broken && v != catalogue.Fixed {
		return Run{}, invalid("variant %q: want broken or fixed", v)
	}
	first, err := strconv.ParseUint(cmp.Or(seed, c.runs.firstSeed(f.Letter, v)), 10, 64)
	if err != nil {
		return Run{}, invalid("seed %q: want a number from 0 to 2^64-1", seed)
	}
	p := &plan{fault: &f, variant: v, services: f.Fixed, scene: Scenario{Load: f.Load}, tries: 1, seed: first}
	p.title = f.Title
	if v == catalogue.Broken {
		p.services = f.Broken
		if f.Rate == "" { // a rate shows at once
			p.tries = attempts
		}
	}
	env := map[string]string{}
	maps.Copy(env, f.Env)
	maps.Copy(env, p.services.Env)
	p.services.Env = env
	return c.begin(p)
}

// Fire starts a scenario and returns the run. In a lab it restarts the services
// with the scenario's strategy; otherwise they stay as they are. The error is a
// *problem.Problem.
func (c *Console) Fire(s Scenario) (Run, error) {
	if err := s.Validate(); err != nil {
		return Run{}, err
	}
	if c.lab == nil && s.Strategy != "" {
		return Run{}, conflict("the running stock services keep their strategy; leave it empty here")
	}
	if c.lab == nil && len(s.Faults) > 0 {
		return Run{}, conflict("%s", notOurs)
	}
	for s.Load.Mix.Seed == 0 {
		s.Load.Mix.Seed = rand.Uint64N(1 << 32)
	}
	services := catalogue.Variant{Strategy: s.Strategy}
	p := &plan{title: "free play", scene: s, tries: 1, seed: s.Load.Mix.Seed, services: services}
	verb := " fire"
	if c.lab != nil {
		verb = " run"
	}
	p.command = c.program + verb + s.flags(c.lab != nil)
	return c.begin(p)
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

// begin starts a run unless another is in progress.
func (c *Console) begin(p *plan) (Run, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		return Run{}, conflict("another run is in progress; wait until it is judged, or stop it")
	}
	if c.ctx.Err() != nil {
		return Run{}, conflict("the console is closing")
	}
	if c.lab != nil {
		p.services.Strategy = cmp.Or(p.services.Strategy, strategy.Default)
	} else if c.view != nil {
		p.services.Strategy = c.view.Strategy
	}
	ctx, stop := context.WithCancel(c.ctx)
	run := p.newRun(1)
	p.judged = make(chan struct{})
	c.plan, c.stop = p, stop
	c.working.Go(func() {
		defer stop()
		p.record, p.err = c.execute(ctx, p, run)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stop = nil
		c.hub.set(secPhase, phaseIdle) // before another run can begin
		c.hub.set(secDoing, "")
		close(p.judged)
	})
	return run, nil
}

// Await waits until the run that Play or Fire started is judged, and returns the record of its last attempt, with the
// verdict.
func (c *Console) Await(ctx context.Context) (*Record, error) {
	c.mu.Lock()
	p := c.plan
	c.mu.Unlock()
	if p == nil {
		return nil, errors.New("nothing was played")
	}
	select {
	case <-p.judged:
		return p.record, p.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// plan is a run with all its attempts.
type plan struct {
	title    string
	command  string           // the command line in free play
	fault    *catalogue.Fault // nil in free play
	variant  catalogue.Side
	services catalogue.Variant // their strategy is "" if it is not known
	scene    Scenario
	tries    int
	seed     uint64

	judged chan struct{} // closed when the fields below are set
	record *Record       // of the last attempt
	err    error         // why there is no record
}

func (p *plan) newRun(attempt int) Run {
	now := time.Now().UTC()
	seed := p.seed + uint64(attempt-1)
	cfg := p.scene.Load
	return Run{
		ID: now.Format("20060102-150405.000") + "-" + strconv.Itoa(attempt), Title: p.title,
		Fault: p.letter(), Variant: string(p.variant), Says: p.services.Says,
		Strategy: p.services.Strategy, Seed: strconv.FormatUint(seed, 10), Attempt: attempt, Attempts: p.tries,
		Orders: cfg.Orders, Buyers: cfg.Concurrency, Goods: cfg.Mix.Goods, Stock: cfg.Mix.Stock * int64(cfg.Mix.Goods),
		StartedAt: now, Command: p.commandOf(seed),
	}
}

// commandOf returns the command line that repeats the run with a seed.
func (p *plan) commandOf(seed uint64) string {
	if p.fault == nil {
		return p.command
	}
	command := fmt.Sprintf("make play FAULT=%s SEED=%d", p.fault.Letter, seed)
	if p.variant == catalogue.Fixed {
		command += " FIXED=1"
	}
	return command
}

// notCaught reports whether a broken variant passed although its books should have gone wrong.
func (p *plan) notCaught(v *Verdict) bool {
	return p.variant == catalogue.Broken && p.fault.Rate == "" && v.Outcome == verify.Pass
}

func (p *plan) letter() string {
	if p.fault == nil {
		return ""
	}
	return p.fault.Letter
}
