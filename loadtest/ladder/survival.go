package ladder

import (
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
		if name == Direct || !p.Faults {
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
		race := []trial.Experiment{calm, calm, calm}
		for i, fault := range []string{Calm, Killed, Flushed} {
			race[i].Name, race[i].Group = name+"/"+fault, fault
		}
		race[1].Acts, race[2].Acts = []trial.Action{kill}, flushes
		all = append(all, race)
	}
	return all
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
