package console

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// execute runs the attempts and returns the record of the last one. It shows an error on the page, and returns it.
func (c *Console) execute(ctx context.Context, p *plan, run Run) (*Record, error) {
	for attempt := 1; ; attempt++ {
		if attempt > 1 {
			run = p.newRun(attempt)
		}
		record, err := c.attempt(ctx, p, run)
		if err != nil {
			c.endSale()
			c.hub.set(secHero, c.unjudged(ctx, err))
			return nil, err
		}
		if record.Verdict.Outcome == verify.Violation || attempt == p.tries {
			return record, nil
		}
		select {
		case <-ctx.Done():
			return record, nil
		default:
		}
		c.say("run", "not caught with seed %s; trying another", run.Seed)
	}
}

// unjudged returns the headline of a run that ended with an error, and notes it in the log.
func (c *Console) unjudged(ctx context.Context, err error) Hero {
	c.mu.Lock()
	sent := !c.sale.began.IsZero()
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
func (c *Console) attempt(ctx context.Context, p *plan, run Run) (*Record, error) {
	m := newMeter(c.hub)
	c.mu.Lock()
	c.sale = &sale{meter: m, live: true, before: c.metrics}
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
	scene.Load.Mix.Seed, _ = strconv.ParseUint(run.Seed, 10, 64) // the plan made it
	t := c.trial(at, p, scene, m)
	h, err := c.fire(ctx, t, scene, m)
	if err != nil {
		return nil, err
	}
	v, err := c.judge(ctx, t, p, h)
	if err != nil {
		return nil, err
	}
	return c.keep(ctx, at, p, run, h, v)
}

// endSale makes the headline final: books that were read before no longer change it.
func (c *Console) endSale() {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended := *c.sale
	ended.live = false
	c.sale = &ended
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
		Load: scene.Load,
		Books: verify.Config{
			Databases: at.Databases, Settle: p.scene.settle(),
			Settled: func(time.Duration) { c.hub.set(secPhase, phaseJudging) },
		},
		Acts: c.actsOf(p, scene),
	}
	if c.lab != nil {
		t.Load.Disturbed = true // anything may be broken by hand
		t.Mend = func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			return c.acts.Heal(ctx)
		}
	}
	t.Load.Target, t.Load.Observer, t.Load.Live = at.Target.Target, m, &m.live
	t.Load.Disturbed = true // by the page's buttons, at any time
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
	c.hub.set(secHero, Hero{Sentence: "the sale begins", Word: wordRunning})
	r, err := c.metered(ctx, t, m)
	if err != nil {
		return nil, err
	}
	c.say("run", "the last order is answered")
	return r.History, nil
}

// metered fires, shows the rates, and notes what did not come about.
func (c *Console) metered(ctx context.Context, t trial.Trial, m *meter) (*trial.Result, error) {
	var metering sync.WaitGroup
	ended := make(chan struct{})
	metering.Go(func() { m.run(ended) })
	metering.Go(func() {
		select {
		case <-m.begun:
			c.mu.Lock()
			c.sale.began = time.Now()
			c.mu.Unlock()
			c.say("run", "the first order is sent")
		case <-ended:
		}
	})
	r, err := t.Fire(ctx)
	close(ended)
	metering.Wait()
	for i := range t.Acts {
		if err != nil {
			break
		}
		c.sayStrike(t.Acts[i].Act, r.Strikes[i])
	}
	return r, err
}

// judge waits until every order has ended, reads everything and judges.
func (c *Console) judge(ctx context.Context, t trial.Trial, p *plan, h *history.History) (*Verdict, error) {
	ctx = context.WithoutCancel(ctx) // a run that was stopped is judged, too
	c.hub.set(secPhase, phaseSettling)
	t.Books.Declared = c.byHand.declared() // the restocks and orders by hand until now
	v, err := t.Judge(ctx, h)
	if err != nil {
		return nil, err
	}
	if p.fault != nil && p.fault.Demand != "" {
		found := demands[p.fault.Demand](h, v)
		v.Invariants = append(v.Invariants, found)
		if found.Violations > 0 {
			v.Outcome = verify.Violation
		}
	}
	return v, nil
}

// keep shows the verdict, and writes and returns the record of the run.
func (c *Console) keep(
	ctx context.Context, at *view, p *plan, run Run, h *history.History, v *Verdict,
) (*Record, error) {
	if run.Orders == 0 {
		run.Orders = h.Measure().Orders
	}
	run.Buyers, run.ElapsedMS = max(run.Buyers, 1), h.Elapsed.Milliseconds()
	run.Stock = c.shown().meter.stock
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	of, books, err := c.books(ctx, at)
	if err != nil {
		return nil, err
	}
	c.showBooks(of, books)
	c.endSale()
	at.tally.forget() // the orders ended after the last count, some of them long after they began
	if _, err := c.showStatuses(ctx, at); err != nil {
		return nil, err
	}
	c.say("verdict", "%s", v.String())
	samples, log := c.hub.recorded()
	record := newRecord(run, v, books, samples, log, c.acts.Strikes())
	record.Compare = c.runs.compare(p, v.OrdersPerS)
	if p.notCaught(v) {
		record.Hero.Word, record.Row.Verdict = wordNotCaught, strings.ToLower(wordNotCaught)
	}
	if p.variant == catalogue.Broken && v.Outcome == verify.Violation {
		c.runs.noteCaught(p.fault.Letter, run.Seed)
	}
	c.hub.set(secRun, run)
	c.hub.set(secVerdict, record.Verdict)
	c.hub.set(secHero, record.Hero)
	c.hub.set(secCompare, record.Compare)
	if err := c.runs.save(record); err != nil {
		return nil, err
	}
	c.hub.set(secRuns, c.runs.list())
	return record, nil
}
