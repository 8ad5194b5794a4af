package console

import (
	"fmt"
	"strconv"
	"time"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/verify"
)

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
