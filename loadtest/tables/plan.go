package tables

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/trial"
	"orderstock/stock-service/deduct"
)

// tries is the number of seeds that a broken variant gets before it counts as not caught: a machine may stand still for
// longer than an act waits.
const tries = 3

// Plan is an experiment that a Player plays, with the description of its next try: a side of a published fault, or free
// play.
type Plan struct {
	trial.Experiment
	Run Run
	// TraceSample is the share of the orders that are traced.
	TraceSample float64
}

// Plan returns the plan that plays a side of the fault, with that first seed.
func (f Fault) Plan(s Side, seed uint64) Plan {
	v, n, expect := f.Fixed, 1, trial.Expect{}
	if s == Broken {
		v = f.Broken
		if f.Rate == "" { // a rate shows at once
			n, expect.Broken = tries, trial.Anything
		}
	}
	e := trial.Experiment{
		Name: f.Letter + "/" + string(s), Group: "published", Load: f.Load, Acts: f.Acts(), Checks: f.Checks,
		Expect: expect, Tries: n, Settle: cmp.Or(v.Settle, settle),
		Services: trial.Services{
			Strategy: cmp.Or(v.Strategy, deduct.Default), Mutants: v.Mutants, Env: with(Env, f.Env, v.Env), Fresh: true,
		},
	}
	e.Load.Patience = v.Settle
	p := Plan{Experiment: e, TraceSample: traced, Run: Run{
		Title: f.Title, Fault: f.Letter, Variant: s, Says: v.Says, Faults: f.code(s, v),
	}}
	return p.Try(1, seed)
}

// code returns the patches and switches of a side's code or, if a broken one has none, the source of the fault.
func (f Fault) code(s Side, v Variant) []string {
	switch {
	case v.Mutants != "":
		return strings.Split(v.Mutants, ",")
	case s == Broken:
		return []string{f.Source.Name}
	}
	return nil
}

// Acts returns what breaks during a run. A step that is delayed waits until its caller has given up.
func (f Fault) Acts() (acts []trial.Action) {
	acts = append(acts, f.Always...)
	cell, _ := FindCell(f.Strike) // none: nothing
	for _, a := range cell.Acts {
		a.EndsLoad, a.Outlast, a.Others = false, true, f.Others
		acts = append(acts, a.At(500*time.Millisecond))
	}
	return acts
}

// Try returns the plan of a try, counted from 1, with that seed.
func (p Plan) Try(n int, seed uint64) Plan {
	p.Load.Mix.Seed = seed
	load, r := p.Load, &p.Run
	r.At, r.Seed, r.Attempt, r.Attempts = time.Now().UTC(), strconv.FormatUint(seed, 10), n, max(n, p.Tries)
	r.ID = r.At.Format("20060102-150405.000") + "-" + strconv.Itoa(n)
	r.Orders, r.Buyers, r.Goods = load.Orders, max(load.Concurrency, 1), load.Mix.Goods
	r.Stock, r.Strategy = load.Mix.Stock*int64(load.Mix.Goods), p.Services.Strategy
	r.Faults = append([]string{}, r.Faults...) // JSON has a list
	if r.Fault != "" {
		r.Command = fmt.Sprintf("make play FAULT=%s SEED=%s", r.Fault, r.Seed)
		if r.Variant == Fixed {
			r.Command += " FIXED=1"
		}
	}
	return p
}
