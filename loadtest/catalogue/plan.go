package catalogue

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"orderstock/loadtest/verify"
)

// tries is the number of seeds that a broken variant gets before it counts as not caught: whether two buyers collide is
// a matter of chance.
const tries = 3

// Plan is what a Player plays: a side of a published fault or, without one, free play.
type Plan struct {
	Scenario
	Fault *Fault
	Side  Side
	// Services are the differences of a lab's services from the product.
	Services Variant
	// Tries is the number of seeds, one after the other, that may bring about a violation.
	Tries int

	command string // the command line in free play
}

// Plan returns the plan that plays a side of the fault, with that first seed.
func (f Fault) Plan(s Side, seed uint64) Plan {
	p := Plan{Scenario: Scenario{Load: f.Load}, Fault: &f, Side: s, Services: f.Fixed, Tries: 1}
	if s == Broken {
		p.Services = f.Broken
		if f.Rate == "" { // a rate shows at once
			p.Tries = tries
		}
	}
	p.Load.Mix.Seed = seed
	p.Services.Env = with(with(map[string]string{}, f.Env), p.Services.Env)
	return p
}

// Plan returns the plan that plays the scenario in a lab or, without one, at running services. program is the load
// tester's name in a shell.
func (s Scenario) Plan(program string, lab bool) Plan {
	for s.Load.Mix.Seed == 0 {
		s.Load.Mix.Seed = rand.Uint64N(1 << 32)
	}
	verb := " fire"
	if lab {
		verb = " run"
	}
	return Plan{Scenario: s, Services: Variant{Strategy: s.Strategy}, Tries: 1, command: program + verb + s.flags(lab)}
}

// Run describes a try of the plan, counted from 1.
func (p Plan) Run(try int) Run {
	now, load := time.Now().UTC(), p.Load
	load.Mix.Seed += uint64(try - 1)
	r := Run{
		ID: now.Format("20060102-150405.000") + "-" + strconv.Itoa(try), At: now, Title: "free play", Variant: p.Side,
		Says: p.Services.Says, Strategy: p.Services.Strategy, Seed: strconv.FormatUint(load.Mix.Seed, 10),
		Attempt: try, Attempts: p.Tries, Orders: load.Orders, Buyers: max(load.Concurrency, 1), Goods: load.Mix.Goods,
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

// missed reports whether a broken variant passed although its books should have gone wrong.
func (p Plan) missed(o verify.Outcome) bool {
	return p.Side == Broken && p.Fault.Rate == "" && o == verify.Pass
}
