package ladder

import (
	"context"
	"fmt"
	"slices"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// The faults.
const (
	// Calm is no fault.
	Calm = "calm"
	// Killed is a stock service killed and started again.
	Killed = "killed"
	// Flushed is Redis emptied, several times within half a second.
	Flushed = "flushed"
)

// breaking returns the experiment with that fault.
func breaking(e trial.Experiment, fault string, acts ...trial.Action) trial.Experiment {
	e.Name, e.Acts = fault, acts
	return e
}

// ordeals puts every strategy of the plan but Direct through nothing, a kill and flushes, with the only stock service,
// in the middle of deductions of several products, some of them twice. Redis is emptied several times: at one moment
// there may be nothing in it to lose.
func (p Plan) ordeals() (all [][]trial.Experiment) {
	kill := trial.Action{Action: "kill", Target: "stock-1", AfterMS: 1000, For: time.Millisecond}
	var flushes []trial.Action
	for i := range 10 {
		flushes = append(flushes, trial.Action{Action: "flush-redis", AfterMS: 1000 + 50*i})
	}
	for _, name := range slices.Compact(slices.Clone(p.Strategies)) {
		if name == Direct {
			continue
		}
		calm := trial.Experiment{
			Services: trial.Services{
				Strategy: name, Replicas: 1,
				Env: patient(map[string]string{"LOCK_TIMEOUT": "15s", "REQUEST_TIMEOUT": "17s"}),
			},
			Load: fire.Config{
				Path: history.PathDeduct, Concurrency: 32, Duration: 2 * time.Second,
				Timeout: 18 * time.Second, // a lock of the killed service lasts until its session ends
				Mix:     fire.Mix{Goods: 5, Stock: plenty, ItemsMax: 3, NumMax: 3, Repeat: 0.1},
			},
		}
		all = append(all, []trial.Experiment{
			breaking(calm, Calm), breaking(calm, Killed, kill), breaking(calm, Flushed, flushes...),
		})
	}
	return all
}

// undergo measures experiments with faults, and adds their rows to the survivors.
func (cfg Config) undergo(ctx context.Context, all []trial.Experiment, result *Result) error {
	cfg.say("what %s keeps when something breaks", all[0].Services.Strategy)
	rows, err := cfg.measure(ctx, all, 1, 0)
	for _, row := range rows {
		row.Fault, row.Variant = row.Variant, ""
		result.Survival = append(result.Survival, row)
	}
	return err
}

// survived describes briefly what the fault left; "–" if not measured.
func (r *Result) survived(name, fault string) string {
	for _, s := range r.Survival {
		if s.Strategy != name || s.Fault != fault {
			continue
		}
		switch s.Verdict {
		case verify.Pass:
			return "all kept"
		case verify.Violation:
			text := s.Broken[0]
			if n := len(s.Broken) - 1; n > 0 {
				text += fmt.Sprintf(" and %d more", n)
			}
			return "**broken: " + text + "**"
		}
		return string(s.Verdict)
	}
	return "–"
}
