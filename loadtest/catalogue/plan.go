package catalogue

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/stock-service/deduct/strategy"
)

// tries is the number of seeds that a broken variant gets before it counts as not caught: whether two buyers collide is
// a matter of chance.
const tries = 3

// Plan is a run to play, with all its tries: a side of a published fault or, without one, free play. Its JSON, in which
// a field that is absent means the default, is a load of one's own and what breaks during it.
type Plan struct {
	Load     fire.Config `json:",inline"`
	Strategy string      `json:"strategy,omitzero"` // in free play
	// Settle is how long after the last answer orders may take to finish before they count as hanging. Default 20 s.
	Settle time.Duration `json:"settle_s,omitzero,format:sec"`
	// TraceSample is the share of the orders that are traced. Default 0.01.
	TraceSample float64        `json:"trace_sample,omitzero"`
	Faults      []trial.Action `json:"faults,omitzero"`

	Fault *Fault `json:"-"`
	Side  Side   `json:"-"`
	// Services are the differences of a lab's services from the product.
	Services Variant `json:"-"`
	// Tries is the number of seeds, one after the other, that may bring about a violation.
	Tries int `json:"-"`

	command string // the command line in free play
}

// Plan returns the plan that plays a side of the fault, with that first seed.
func (f Fault) Plan(s Side, seed uint64) Plan {
	p := Plan{Load: f.Load, Fault: &f, Side: s, Services: f.Fixed, Tries: 1}
	if s == Broken {
		p.Services = f.Broken
		if f.Rate == "" { // a rate shows at once
			p.Tries = tries
		}
	}
	p.Load.Mix.Seed = seed
	p.Load.Patience, p.Settle = p.Services.Patience, p.Services.Patience
	p.Services.Strategy = cmp.Or(p.Services.Strategy, strategy.Default)
	p.Services.Env = with(with(map[string]string{}, f.Env), p.Services.Env)
	return p
}

// Run describes a try of the plan, counted from 1, with the plan's seed.
func (p Plan) Run(try int) Run {
	now, load := time.Now().UTC(), p.Load
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
