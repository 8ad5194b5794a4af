package console

import (
	"context"
	"strings"
	"time"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

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
	report := h.Measure()
	if run.Orders == 0 {
		run.Orders = report.Orders
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
	hero, outcome := headline(run, books, v), string(v.Outcome)
	if p.notCaught(v) {
		hero.Word, outcome = wordNotCaught, strings.ToLower(wordNotCaught)
	}
	if p.variant == catalogue.Broken && v.Outcome == verify.Violation {
		c.runs.noteCaught(p.fault.Letter, run.Seed)
	}
	compare := c.runs.compare(p, report.OrdersPerS)
	c.hub.set(secRun, run)
	c.hub.set(secVerdict, inWords(v))
	c.hub.set(secHero, hero)
	c.hub.set(secCompare, compare)
	c.say("verdict", "%s", v.String())
	samples, log := c.hub.recorded()
	strikes := c.acts.Strikes()
	row := RunRow{
		ID: run.ID, At: run.StartedAt, Title: run.Title, Fault: run.Fault, Variant: run.Variant,
		Strategy: run.Strategy, Seed: run.Seed, Orders: v.Orders, OrdersPerS: v.OrdersPerS, P99MS: v.P99Ms,
		Verdict: outcome, Oversold: v.Oversold, Faults: []string{}, HasReport: true, Command: run.Command,
	}
	for _, s := range strikes {
		row.Faults = append(row.Faults, s.String())
	}
	record := &Record{
		Row: row, attempt: run.Attempt, Samples: samples, Log: log, Verdict: inWords(v), Faults: strikes, Compare: compare,
		Hero: &hero, Books: &books,
	}
	if err := c.runs.save(record); err != nil {
		return nil, err
	}
	c.hub.set(secRuns, c.runs.list())
	return record, nil
}
