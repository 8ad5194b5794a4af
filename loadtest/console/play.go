package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"orderstock/loadtest/faults"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
	"orderstock/stock-service/deduct/strategy"
)

// Verdict is the verdict on a run.
type Verdict = verify.Verdict

// attempts is how many seeds a broken variant is given before it counts as not
// caught: whether two buyers meet is a matter of chance.
const attempts = 3

// seedsFrom is the seed that a fault is played with unless the caller gives one.
const seedsFrom = 42

// Faults returns the published faults.
func (c *Console) Faults() []FaultInfo {
	why := ""
	if c.lab == nil {
		why = notHere
	}
	all := make([]FaultInfo, len(published))
	for i, f := range published {
		all[i] = FaultInfo{
			Letter: f.letter, Title: f.title, Says: f.says, Idea: f.idea,
			Kind: f.kind(), BrokenSays: f.broken.says, FixedSays: f.fixed.says, Playable: why == "", WhyNot: why,
		}
	}
	return all
}

// Play starts the broken or the fixed variant of a published fault and returns
// the run. A broken variant that passes is tried again, with up to three seeds in
// all. The error is a *problem.Problem: the request is invalid, or another run is
// in progress.
func (c *Console) Play(letter string, v Variant, seed string) (Run, error) {
	if c.lab == nil {
		return Run{}, conflict("%s", notHere)
	}
	f, err := find(letter)
	if err != nil {
		return Run{}, err
	}
	if v != Broken && v != Fixed {
		return Run{}, invalid("variant %q: want broken or fixed", v)
	}
	scene := f.scenario
	scene.Seed = seed
	first, err := scene.seed()
	if err != nil {
		return Run{}, err
	}
	if seed == "" {
		first = c.firstSeed(f.letter, v)
	}
	p := &performance{fault: &f, variant: v, services: f.fixed, scene: scene, tries: 1, seed: first}
	p.title = f.title
	if v == Broken {
		p.services = f.broken
		if f.rate == "" { // a rate shows at once
			p.tries = attempts
		}
	}
	env := maps.Clone(f.env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, p.services.env)
	p.services.env = env
	return c.begin(p)
}

// firstSeed returns the seed that a variant is played with unless the caller says: for a fixed one, that with which the
// broken one was caught.
func (c *Console) firstSeed(letter string, v Variant) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seed, ok := c.caught[letter]; ok && v == Fixed {
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

// Fire starts a scenario and returns the run. In a lab the services start anew
// with its strategy; otherwise they stay as they are. The error is a
// *problem.Problem, as that of Play.
func (c *Console) Fire(s Scenario) (Run, error) {
	if err := s.Validate(); err != nil {
		return Run{}, err
	}
	if c.lab == nil && s.Strategy != "" {
		return Run{}, conflict("the strategy is that of the running stock services; leave it empty here")
	}
	if c.lab == nil && len(s.Faults) > 0 {
		return Run{}, conflict("%s", notOurs)
	}
	if s.Seed == "" {
		s.Seed = strconv.FormatUint(rand.Uint64N(1<<32), 10)
	}
	seed, _ := s.seed() // validated
	p := &performance{title: "free play", scene: s, tries: 1, seed: seed, services: variant{strategy: s.Strategy}}
	p.command = c.program + " fire" + s.flags()
	if c.lab != nil {
		p.command = c.program + " play" + s.flags()
	}
	return c.begin(p)
}

// Stop ends the current run: no more orders are sent, and what was sent is judged.
func (c *Console) Stop() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop == nil {
		return "nothing is running", nil
	}
	c.stop()
	return "stopping; what was sent is judged", nil
}

// performance is a run with all its attempts.
type performance struct {
	title    string
	command  string // the command line in free play
	fault    *fault // nil in free play
	variant  Variant
	services variant // their strategy is "" if it is not known
	scene    Scenario
	tries    int
	seed     uint64
}

// begin starts a performance unless another is in progress.
func (c *Console) begin(p *performance) (Run, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		return Run{}, conflict("another run is in progress; wait until it is judged, or stop it")
	}
	if c.lab != nil {
		p.services.strategy = cmp.Or(p.services.strategy, strategy.Default)
	} else if c.site != nil {
		p.services.strategy = c.site.Strategy
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
		v, err := c.perform(ctx, p, run)
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

func (p *performance) newRun(attempt int) Run {
	now := time.Now().UTC()
	seed := p.seed + uint64(attempt-1)
	cfg := p.scene.config(fire.Target{})
	return Run{
		ID: now.Format("20060102-150405.000") + "-" + strconv.Itoa(attempt), Title: p.title,
		Fault: p.letter(), Variant: string(p.variant), Says: p.services.says,
		Strategy: p.services.strategy, Seed: strconv.FormatUint(seed, 10), Attempt: attempt, Attempts: p.tries,
		Orders: cfg.Orders, Buyers: cfg.Concurrency, Goods: cfg.Mix.Goods, Stock: cfg.Mix.Stock * int64(cfg.Mix.Goods),
		StartedAt: now, Command: p.commandOf(seed),
	}
}

// commandOf returns the command line that repeats the run with a seed.
func (p *performance) commandOf(seed uint64) string {
	if p.fault == nil {
		return p.command
	}
	command := fmt.Sprintf("make play FAULT=%s SEED=%d", p.fault.letter, seed)
	if p.variant == Fixed {
		command += " FIXED=1"
	}
	return command
}

// notCaught reports whether a broken variant passed although its books should have gone wrong.
func (p *performance) notCaught(v *Verdict) bool {
	return p.variant == Broken && p.fault.rate == "" && v.Outcome == verify.Pass
}

func (p *performance) letter() string {
	if p.fault == nil {
		return ""
	}
	return p.fault.letter
}

// Await waits until the run that Play or Fire started is judged, and returns
// its verdict: that of the last attempt.
func (c *Console) Await(ctx context.Context) (*Verdict, error) {
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	if ended == nil {
		return nil, errors.New("nothing was played")
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

// perform runs the attempts. It shows an error on the page, and returns it.
func (c *Console) perform(ctx context.Context, p *performance, run Run) (*Verdict, error) {
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
func (c *Console) attempt(ctx context.Context, p *performance, run Run) (*Verdict, error) {
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
	h, err := c.fire(ctx, at, p, scene, m)
	if err != nil {
		return nil, err
	}
	v, err := c.judge(ctx, at, p, h)
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

func label(v Variant) string {
	if v == "" {
		return ""
	}
	return ", " + string(v)
}

// fire sends the orders, brings about the faults of the scenario meanwhile, and then heals them.
func (c *Console) fire(
	ctx context.Context, at *site, p *performance, scene Scenario, m *meter,
) (*history.History, error) {
	c.hub.set(secPhase, phaseFiring)
	c.hub.set(secHero, Hero{Stock: m.stock, Sentence: "the sale begins", Word: wordRunning})
	done := make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() { m.run(done) })
	beside.Go(func() {
		select {
		case <-m.begun:
			c.mu.Lock()
			c.began = time.Now()
			c.mu.Unlock()
			c.say("run", "the first order is sent")
			c.strikeMeanwhile(ctx, p, scene, done)
		case <-done:
		}
	})
	cfg := scene.config(at.Target.Target)
	cfg.Observer, cfg.Live = m, &m.live
	cfg.Tracer = c.traces.sampled.Tracer(scope)
	h, err := fire.Run(ctx, cfg)
	close(done)
	beside.Wait()
	if err != nil {
		return nil, err
	}
	c.say("run", "the last order is answered")
	if c.lab != nil {
		c.acting.Lock()
		defer c.acting.Unlock()
		healing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err := c.heal(healing); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// strikeMeanwhile brings the faults of the scenario about, each at its time.
func (c *Console) strikeMeanwhile(ctx context.Context, p *performance, scene Scenario, done <-chan struct{}) {
	var beside sync.WaitGroup
	defer beside.Wait()
	if p.fault != nil && p.fault.strike != "" {
		beside.Go(func() {
			if err := c.strikeCell(ctx, p.fault.strike, scene, done); err != nil {
				c.say("error", "%v", err)
			}
		})
	}
	if p.fault != nil && p.fault.besides != nil {
		beside.Go(func() {
			if err := p.fault.besides(ctx, c); err != nil {
				c.say("error", "%v", err)
			}
		})
	}
	for _, a := range scene.Faults {
		beside.Go(func() {
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

// strikeCell arms a cell of the fault matrix, waits until it has struck and its
// time is over, and heals it, unless somebody else heals it first.
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
	s := c.noteArmed(Action{Action: cell.Fault, Step: cell.Step, When: cell.When})
	c.noteCounted(s)
	c.say("fault", "armed: %s %s %s", cell.Fault, cell.When, cell.Step)
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
		c.say("fault", "never struck: %s %s %s", cell.Fault, cell.When, cell.Step)
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

// judge waits until every order has ended, reads everything and judges.
func (c *Console) judge(ctx context.Context, at *site, p *performance, h *history.History) (*Verdict, error) {
	ctx = context.WithoutCancel(ctx) // what was sent is judged even if the run was stopped
	c.hub.set(secPhase, phaseSettling)
	v, err := verify.Run(ctx, verify.Config{
		Databases: at.Databases, History: h, Settle: settleWithin,
		Settled: func(time.Duration) { c.hub.set(secPhase, phaseJudging) },
	})
	if err != nil {
		return nil, err
	}
	if p.fault != nil && p.fault.demand != nil {
		if found := p.fault.demand(h, v); found != nil {
			v.Invariants = append(v.Invariants, *found)
			if found.Violations > 0 {
				v.Outcome = verify.Violation
			}
		}
	}
	return v, nil
}

// keep shows the verdict and writes the record of the run.
func (c *Console) keep(ctx context.Context, at *site, p *performance, run Run, h *history.History, v *Verdict) error {
	report := h.Measure()
	if run.Orders == 0 {
		run.Orders = report.Orders
	}
	run.Buyers, run.ElapsedMS = max(run.Buyers, 1), h.Elapsed.Milliseconds()
	run.Stock = c.meter.stock
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	era, books, err := c.books(ctx, at)
	if err != nil {
		return err
	}
	c.showBooks(era, books)
	c.endEra()
	at.tally.forget() // the orders ended after the last count, some of them long after they began
	if _, err := c.showStatuses(ctx, at); err != nil {
		return err
	}
	hero, outcome := headline(run, books, v), string(v.Outcome)
	if p.notCaught(v) {
		hero.Word, outcome = wordNotCaught, strings.ToLower(wordNotCaught)
	}
	if p.variant == Broken && v.Outcome == verify.Violation {
		c.noteCaught(p.fault.letter, run.Seed)
	}
	compare := c.compare(p, report.OrdersPerS)
	c.hub.set(secRun, run)
	c.hub.set(secVerdict, inWords(v))
	c.hub.set(secHero, hero)
	c.hub.set(secCompare, compare)
	c.say("verdict", "%s", v.String())
	samples, log := c.hub.recorded()
	strikes := c.recordedStrikes()
	row := RunRow{
		ID: run.ID, At: run.StartedAt, Title: run.Title, Fault: run.Fault, Variant: run.Variant,
		Strategy: run.Strategy, Seed: run.Seed, Orders: v.Orders, OrdersPerS: v.OrdersPerS, P99MS: v.P99Ms,
		Verdict: outcome, Oversold: v.Oversold, Faults: []string{}, HasReport: true, Command: run.Command,
	}
	for _, s := range strikes {
		row.Faults = append(row.Faults, strings.TrimSpace(s.What+" "+s.Where))
	}
	record := Record{
		Row: row, Samples: samples, Log: log, Verdict: inWords(v), Faults: strikes, Compare: compare,
		Hero: &hero, Books: &books,
	}
	if err := c.runs.save(record); err != nil {
		return err
	}
	c.hub.set(secRuns, c.runs.list())
	return nil
}

// compare records the rate of a fault that costs only time, and returns it with the other variant's.
func (c *Console) compare(p *performance, rate float64) *Compare {
	if p.fault == nil || p.fault.rate == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	told := c.rates[p.fault.letter]
	told.What, told.BrokenSays, told.FixedSays = p.fault.rate, p.fault.broken.says, p.fault.fixed.says
	if p.variant == Broken {
		told.Broken = rate
	} else {
		told.Fixed = rate
	}
	c.rates[p.fault.letter] = told
	return &told
}

// Known returns an error that lists the published faults if letter is none of them.
func Known(letter string) error {
	_, err := find(letter)
	return err
}

// Letters returns the letters of the published faults.
func Letters() []string {
	letters := make([]string, len(published))
	for i, f := range published {
		letters[i] = f.letter
	}
	return letters
}

func find(letter string) (fault, error) {
	i := slices.IndexFunc(published, func(f fault) bool { return f.letter == strings.ToUpper(letter) })
	if i < 0 {
		return fault{}, invalid("there is no fault %q; there are A to Q", letter)
	}
	return published[i], nil
}

// kind says what the fault costs: the books, or only time.
func (f fault) kind() string {
	if f.rate != "" {
		return "time"
	}
	return "books"
}
