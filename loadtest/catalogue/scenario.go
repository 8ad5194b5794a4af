package catalogue

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"orderstock/loadtest/act"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/pkg/problem"
	"orderstock/stock-service/deduct/strategy"
)

// Scenario is a load and the faults that strike during it. A zero field means the default.
type Scenario struct {
	Load     fire.Config `json:",inline"`
	Strategy string      `json:"strategy,omitzero"`
	// Settle is how long after the last answer orders may take to finish before they count as hanging. Default 20 s.
	Settle time.Duration `json:"settle_s,omitzero,format:sec"`
	// TraceSample is the share of the orders that are traced. Default 0.01.
	TraceSample float64      `json:"trace_sample,omitzero"`
	Faults      []act.Action `json:"faults,omitzero"`
}

// Settings lists the settings of the load, and the scenario's own numbers.
func (s *Scenario) Settings() []fire.Setting {
	return append(s.Load.Settings(),
		fire.Setting{
			Name: "settle_s", Flag: "settle", Says: "how long to wait for unfinished orders to end; 0: 20 s",
			Label: "Seconds to settle", Most: 300, Unit: "s", To: &s.Settle,
		},
		fire.Setting{
			Name: "trace_sample", Flag: "trace-sample", Says: "share of orders of which every step is recorded; 0: 0.01",
			Label: "Traced", Most: 1, To: &s.TraceSample,
		},
	)
}

// Validate returns a *problem.Problem that names the first invalid field and its valid values.
func (s *Scenario) Validate() error {
	load := s.Load
	if load.Path != "" && load.Path != history.PathOrder && load.Path != history.PathDeduct {
		return invalid("path %q: want order or deduct", load.Path)
	}
	for _, setting := range s.Settings() {
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
	if s.Strategy != "" {
		if _, err := strategy.Find(s.Strategy); err != nil {
			return invalid("%v", err)
		}
	}
	for _, f := range s.Faults {
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
func (s *Scenario) settle() time.Duration { return cmp.Or(s.Settle, 20*time.Second) }

// traced returns the share of the orders that are traced.
func (s *Scenario) traced() float64 { return cmp.Or(s.TraceSample, 0.01) }

func invalid(format string, args ...any) error {
	return problem.New(http.StatusBadRequest, "invalid", format, args...)
}

// flags returns the scenario as flags of "loadtest fire" or, of a lab, with its strategy and faults, of "loadtest run",
// whose spans nobody receives.
func (s *Scenario) flags(lab bool) string {
	var b strings.Builder
	for _, setting := range s.Settings() {
		if setting.To != &s.TraceSample || !lab {
			b.WriteString(setting.Arg())
		}
	}
	if s.Strategy != "" {
		b.WriteString(" --strategy " + s.Strategy)
	}
	for _, f := range s.Faults {
		b.WriteString(" --break '" + f.String() + "'")
	}
	return b.String()
}
