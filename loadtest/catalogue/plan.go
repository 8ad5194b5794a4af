package catalogue

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"orderstock/loadtest/trial"
	"orderstock/stock-service/deduct"
)

// tries is the number of seeds that a broken variant gets before it counts as not caught: a machine may stand still for
// longer than an act waits.
const tries = 3

// Plan is an experiment that a Player plays: a side of a published fault or, without one, free play.
type Plan struct {
	trial.Experiment
	Fault *Fault
	Side  Side
	// Says describes the side, if it is not the fault alone or the product as it ships.
	Says string
	// TraceSample is the share of the orders that are traced.
	TraceSample float64

	command string // the command line in free play
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
	e.Load.Mix.Seed, e.Load.Patience = seed, v.Settle
	return Plan{Experiment: e, Fault: &f, Side: s, Says: v.Says, TraceSample: traced}
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

// Try describes a try of the plan, counted from 1, with the plan's seed.
func (p Plan) Try(n int) Run {
	now, load := time.Now().UTC(), p.Load
	r := Run{
		ID: now.Format("20060102-150405.000") + "-" + strconv.Itoa(n), At: now, Title: "free play", Variant: p.Side,
		Says: p.Says, Strategy: p.Services.Strategy, Seed: strconv.FormatUint(load.Mix.Seed, 10),
		Attempt: n, Attempts: max(n, p.Tries), Orders: load.Orders, Buyers: max(load.Concurrency, 1), Goods: load.Mix.Goods,
		Stock: load.Mix.Stock * int64(load.Mix.Goods), Command: p.command, Faults: []string{},
	}
	if p.Fault != nil {
		r.Title, r.Fault = p.Fault.Title, p.Fault.Letter
		r.Command = fmt.Sprintf("make play FAULT=%s SEED=%s", r.Fault, r.Seed)
		if p.Side == Fixed {
			r.Command += " FIXED=1"
		}
	}
	return r
}
