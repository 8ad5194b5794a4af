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
	"sync"
	"time"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/stock-service/deduct/strategy"
)

// Verdict is the verdict on a run.
type Verdict = verify.Verdict

// attempts is the number of seeds that a broken variant gets before it counts as not caught: whether two buyers collide
// is a matter of chance.
const attempts = 3

// seedsFrom is the default seed of a fault.
const seedsFrom = 42

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
	scene := ScenarioOf(f.Load)
	scene.Seed = seed
	first, err := scene.seed()
	if err != nil {
		return Run{}, err
	}
	if seed == "" {
		first = c.firstSeed(f.Letter, v)
	}
	p := &plan{fault: &f, variant: v, services: f.Fixed, scene: scene, tries: 1, seed: first}
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

// firstSeed returns the default seed of a variant. A fixed one is played with the seed that caught the broken one.
func (c *Console) firstSeed(letter string, v catalogue.Side) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seed, ok := c.caught[letter]; ok && v == catalogue.Fixed {
		return seed
	}
	return seedsFrom
}

func (c *Console) noteCaught(letter, seed string) {
	n, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return // a number, as newRun wrote it
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.caught[letter] = n
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
	if s.Seed == "" {
		s.Seed = strconv.FormatUint(rand.Uint64N(1<<32), 10)
	}
	seed, _ := s.seed() // validated
	services := catalogue.Variant{Strategy: s.Strategy}
	p := &plan{title: "free play", scene: s, tries: 1, seed: seed, services: services}
	p.command = c.program + " fire" + s.flags()
	if s.TraceSample > 0 {
		p.command += fmt.Sprintf(" --trace-sample %g", s.TraceSample)
	}
	if c.lab != nil {
		p.command = c.program + " run" + s.flags()
	}
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
}

// begin starts a run unless another is in progress.
func (c *Console) begin(p *plan) (Run, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		return Run{}, conflict("another run is in progress; wait until it is judged, or stop it")
	}
	if c.lab != nil {
		p.services.Strategy = cmp.Or(p.services.Strategy, strategy.Default)
	} else if c.view != nil {
		p.services.Strategy = c.view.Strategy
	}
	run, stopped, ended := p.newRun(1), make(chan struct{}), make(chan struct{})
	c.ended = ended
	c.stop = sync.OnceFunc(func() { close(stopped) })
	started := c.spawn(func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			select {
			case <-stopped:
				cancel()
			case <-ctx.Done():
			}
		}()
		v, err := c.execute(ctx, p, run)
		c.mu.Lock()
		c.stop, c.result, c.failed = nil, v, err
		c.hub.set(secPhase, phaseIdle) // before another run can begin
		c.hub.set(secDoing, "")
		close(ended)
		c.mu.Unlock()
	})
	if !started {
		c.stop = nil
		return Run{}, conflict("the console is closing")
	}
	return run, nil
}

func (p *plan) newRun(attempt int) Run {
	now := time.Now().UTC()
	seed := p.seed + uint64(attempt-1)
	cfg := p.scene.config(fire.Target{})
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

var errNothingPlayed = errors.New("nothing was played")

// Await waits until the run that Play or Fire started is judged, and returns
// the verdict on its last attempt.
func (c *Console) Await(ctx context.Context) (*Verdict, error) {
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	if ended == nil {
		return nil, errNothingPlayed
	}
	select {
	case <-ended:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.result, c.failed
	case <-c.closing:
		return nil, errors.New("the console closed before the run was judged")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// execute runs the attempts. It shows an error on the page, and returns it.
func (c *Console) execute(ctx context.Context, p *plan, run Run) (*Verdict, error) {
	for attempt := 1; ; attempt++ {
		if attempt > 1 {
			run = p.newRun(attempt)
		}
		v, err := c.attempt(ctx, p, run)
		if err != nil {
			c.endEra()
			c.hub.set(secHero, c.unjudged(ctx, err))
			return nil, err
		}
		if v.Outcome == verify.Violation || attempt == p.tries {
			return v, nil
		}
		select {
		case <-ctx.Done():
			return v, nil
		default:
		}
		c.say("run", "not caught with seed %s; trying another", run.Seed)
	}
}

// unjudged returns the headline of a run that ended with an error, and notes it in the log.
func (c *Console) unjudged(ctx context.Context, err error) Hero {
	c.mu.Lock()
	sent := !c.began.IsZero()
	c.mu.Unlock()
	if ctx.Err() != nil && !sent {
		c.say("run", "stopped before an order was sent")
		return Hero{Sentence: "stopped before an order was sent", Word: wordNotJudged}
	}
	c.say("error", "%v", err)
	return Hero{Sentence: "The run ended early: " + err.Error(), Word: wordNotJudged}
}

// attempt makes one run, from fresh services to the verdict, and keeps its
// record.
func (c *Console) attempt(ctx context.Context, p *plan, run Run) (*Verdict, error) {
	m := newMeter(c.hub)
	c.mu.Lock()
	c.meter, c.run, c.other, c.began, c.wrong = m, &run, false, time.Time{}, false
	c.live, c.era = true, c.era+1
	c.metricsBefore = c.metrics
	c.mu.Unlock()
	c.hub.restart()
	for section, value := range map[string]any{
		secRun: run, secDoing: "", secVerdict: nil, secHero: nil, secCompare: nil, secBooks: Books{Rows: []BookRow{}},
		secEdges: map[string]int{},
	} {
		c.hub.set(section, value)
	}
	c.say("run", "%s%s, seed %s", p.title, label(p.variant), run.Seed)
	if c.lab != nil {
		if err := c.startServices(ctx, p.services); err != nil {
			return nil, err
		}
	}
	at, err := c.running()
	if err != nil {
		return nil, err
	}
	scene := p.scene
	scene.Seed = run.Seed
	t := c.trial(at, p, scene, m)
	h, err := c.fire(ctx, t, scene, m)
	if err != nil {
		return nil, err
	}
	v, err := c.judge(ctx, t, p, h)
	if err != nil {
		return nil, err
	}
	return v, c.keep(ctx, at, p, run, h, v)
}

// endEra makes the headline final: books that were read before no longer change it.
func (c *Console) endEra() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live, c.era = false, c.era+1
}

func label(v catalogue.Side) string {
	if v == "" {
		return ""
	}
	return ", " + string(v)
}

// trial returns the run as a trial: its load, the faults that strike during it, and the books to judge.
func (c *Console) trial(at *view, p *plan, scene Scenario, m *meter) trial.Trial {
	t := trial.Trial{
		Load: scene.config(at.Target.Target),
		Books: verify.Config{
			Databases: at.Databases, Settle: p.scene.settle(),
			Settled: func(time.Duration) { c.hub.set(secPhase, phaseJudging) },
		},
		During: func(ctx context.Context, ended <-chan struct{}) {
			var metering sync.WaitGroup
			defer metering.Wait()
			metering.Go(func() { m.run(ended) })
			select {
			case <-m.begun:
				c.mu.Lock()
				c.began = time.Now()
				c.mu.Unlock()
				c.say("run", "the first order is sent")
				c.strikeDuring(ctx, p, scene, ended)
			case <-ended:
			}
		},
	}
	t.Load.Observer, t.Load.Live = m, &m.live
	return t
}

// fire sends the orders while the faults of the scenario strike, and then heals them.
func (c *Console) fire(ctx context.Context, t trial.Trial, scene Scenario, m *meter) (_ *history.History, err error) {
	client, err := c.traces.client(scene.traced())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Close(context.WithoutCancel(ctx))) }()
	t.Load.Tracer = client
	c.hub.set(secPhase, phaseFiring)
	c.hub.set(secHero, Hero{Stock: m.stock, Sentence: "the sale begins", Word: wordRunning})
	r, err := t.Fire(ctx)
	if err != nil {
		return nil, err
	}
	c.say("run", "the last order is answered")
	if c.lab != nil {
		healing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err := c.acts.Heal(healing); err != nil {
			return nil, err
		}
	}
	return r.History, nil
}
