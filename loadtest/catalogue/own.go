package catalogue

import (
	"cmp"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/pkg/problem"
	"orderstock/stock-service/deduct/strategy"
)

// Own returns the plan of a load of one's own, completed: it is played in a lab or, without one, at services that run.
// program is the load tester's name in a shell.
func (p Plan) Own(program string, lab bool) Plan {
	for p.Load.Mix.Seed == 0 {
		p.Load.Mix.Seed = rand.Uint64N(1 << 32)
	}
	verb := " fire"
	if lab {
		verb, p.Services.Strategy = " run", cmp.Or(p.Strategy, strategy.Default)
	}
	p.Tries, p.command = 1, program+verb+p.flags(lab)
	return p
}

// Settings lists the settings of the load, and the plan's own numbers.
func (p *Plan) Settings() []fire.Setting {
	return append(p.Load.Settings(),
		fire.Setting{
			Name: "settle_s", Flag: "settle", Says: "how long to wait for unfinished orders to end; 0: 20 s",
			Label: "Seconds to settle", Most: 300, Unit: "s", To: &p.Settle,
		},
		fire.Setting{
			Name: "trace_sample", Flag: "trace-sample", Says: "share of orders of which every step is recorded; 0: 0.01",
			Label: "Traced", Most: 1, To: &p.TraceSample,
		},
	)
}

// Validate returns a *problem.Problem that names the first invalid field and its valid values.
func (p *Plan) Validate() error {
	load := p.Load
	if load.Path != "" && load.Path != history.PathOrder && load.Path != history.PathDeduct {
		return invalid("path %q: want order or deduct", load.Path)
	}
	for _, setting := range p.Settings() {
		if err := setting.Check(); err != nil {
			return invalid("%v", err)
		}
	}
	if load.Rate > 0 && load.Rate < fire.LeastRate {
		return invalid("rate %v: want 0, or %v to 100000", load.Rate, fire.LeastRate)
	}
	if load.Duration > 0 && load.Warmup >= load.Duration {
		return invalid("warmup_s %g: want less than duration_s, %g", load.Warmup.Seconds(), load.Duration.Seconds())
	}
	if p.Strategy != "" {
		if _, err := strategy.Find(p.Strategy); err != nil {
			return invalid("%v", err)
		}
	}
	for _, f := range p.Faults {
		if err := f.Known(); err != nil {
			return err
		}
		if f.AfterMS < 0 || f.AfterMS > mostAfterMS {
			return invalid("after_ms %d of fault %s: want 0 to %d", f.AfterMS, f.Action, mostAfterMS)
		}
	}
	return nil
}

// mostAfterMS is the latest moment of a fault: the longest duration of a load.
const mostAfterMS = int(10 * time.Minute / time.Millisecond)

// settle returns how long orders may take to finish before they count as hanging.
func (p *Plan) settle() time.Duration { return cmp.Or(p.Settle, 20*time.Second) }

// traced returns the share of the orders that are traced.
func (p *Plan) traced() float64 { return cmp.Or(p.TraceSample, 0.01) }

func invalid(format string, args ...any) error {
	return problem.New(http.StatusBadRequest, "invalid", format, args...)
}

// flags returns the plan as flags of "loadtest fire" or, of a lab, with its strategy and faults, of "loadtest run",
// whose spans nobody receives.
func (p *Plan) flags(lab bool) string {
	var b strings.Builder
	for _, setting := range p.Settings() {
		if setting.To != &p.TraceSample || !lab {
			b.WriteString(setting.Arg())
		}
	}
	if p.Strategy != "" {
		b.WriteString(" --strategy " + p.Strategy)
	}
	for _, f := range p.Faults {
		b.WriteString(" --break '" + f.String() + "'")
	}
	return b.String()
}
