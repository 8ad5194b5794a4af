package tables

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/trial"
	"orderstock/stock-service/deduct"
)

// tries is the number of seeds that a broken variant gets before it counts as not caught: some need two orders to meet
// at the wrong moment, and a machine may stand still for longer than an act waits.
const tries = 3

// FirstSeed is the first seed of a published fault.
const FirstSeed = 42

// Play returns the experiment that plays a side of the fault, with that first seed, and its first run.
func (f Fault) Play(s Side, seed uint64) (trial.Experiment, Run) {
	v, n, expect := f.variant(s), 1, trial.Expect{}
	if s == Broken && f.Rate == "" { // a rate shows at once
		n, expect.Broken = tries, trial.Anything
	}
	env, acts := f.Env, f.Acts()
	if s == Here { // nobody waits for others who cannot come
		if _, held := env[faultpoint.AlwaysEnv]; held {
			env = with(env, gap)
		}
		for i := range acts {
			acts[i].OtherStocks = nil
		}
	}
	e := trial.Experiment{
		Name: f.Letter + "/" + string(s), Group: "published", Load: f.Load, Acts: acts, Checks: f.Checks,
		Expect: expect, Tries: n, Settle: cmp.Or(v.Settle, settle),
		Services: trial.Services{
			Strategy: cmp.Or(v.Strategy, deduct.Default), Mutants: v.Mutants, Env: with(Env, env), Fresh: true,
		},
	}
	e.Load.Patience, e.Load.Mix.Seed = v.Settle, seed
	return e, Run{
		Title: f.Title, Fault: f.Letter, Variant: s, Says: v.Says, Faults: f.code(s, v), TraceSample: traced,
	}.of(e, 1, seed)
}

// code returns the patches and switches of a side's code or, if a broken one has none, the source of the fault.
func (f Fault) code(s Side, v Variant) []string {
	if v.Mutants == "" && s == Broken {
		return []string{f.Source.Name}
	}
	return v.code()
}

func (v Variant) code() []string {
	if v.Mutants == "" {
		return nil
	}
	return strings.Split(v.Mutants, ",")
}

// Acts returns what breaks during a run. A step that is delayed waits until its caller has given up.
func (f Fault) Acts() (acts []trial.Action) {
	acts = append(acts, f.Always...)
	cell, _ := FindCell(f.Strike) // none: nothing
	for _, a := range cell.Acts {
		a.EndsLoad, a.Outlast, a.OtherStocks = false, true, f.OtherStocks
		acts = append(acts, a.At(500*time.Millisecond))
	}
	return acts
}

// of returns the description of a try of the experiment, counted from 1, with that seed.
func (r Run) of(e trial.Experiment, n int, seed uint64) Run {
	r.At, r.Seed, r.Attempt, r.Attempts = time.Now().UTC(), seed, n, max(n, e.Tries)
	r.ID = r.At.Format("20060102-150405.000") + "-" + strconv.Itoa(n)
	r.Orders, r.Buyers, r.Goods = e.Load.Orders, max(e.Load.Concurrency, 1), e.Load.Mix.Goods
	r.Stock, r.Strategy = e.Load.Mix.Stock*int64(e.Load.Mix.Goods), cmp.Or(r.Strategy, e.Services.Strategy)
	r.Faults = append([]string{}, r.Faults...) // JSON has a list
	if r.Fault != "" {
		r.Buyers = r.Orders // each order is another one's
		r.Command = fmt.Sprintf("make play FAULT=%s SEED=%d", r.Fault, r.Seed)
		if r.Variant != Broken {
			r.Command += " " + strings.ToUpper(string(r.Variant)) + "=1"
		}
	}
	return r
}
