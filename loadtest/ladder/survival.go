package ladder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/stock-service/deduct"
)

// Survival is a run in which something broke.
type Survival struct {
	Strategy string `json:"strategy"`
	Fault    string `json:"fault" col:"Fault"`
	// Told counts the acknowledged sales, before the fault and after it.
	Told int `json:"told"`
	// Answers counts the answers to first calls, and Other the ones that are none of 201, 202 and 409.
	Answers int `json:"answers" col:"Answers"`
	Other   int `json:"other" col:"Other than 201, 202, 409"`
	// FirstSuccessS is how long after the fault every product was sold again: the longest of the products' times until
	// the first confirmation of an order that was sent after the fault; -1 if a product was never sold again.
	FirstSuccessS float64 `json:"first_success_s" col:"First success after, s" fmt:"%.2f"`
	// Verdict is the verifier's, and Broken names the invariants that do not hold.
	Verdict verify.Outcome `json:"verdict" col:"Verdict"`
	Broken  []string       `json:"broken,omitempty"`
}

// The faults.
const (
	// Calm is no fault.
	Calm = "calm"
	// Killed is a stock service killed and started again.
	Killed = "killed"
	// Flushed is Redis emptied, several times within half a second.
	Flushed = "flushed"
	// Paused is a stock service that stands still.
	Paused = "paused"
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
			Services: trial.Services{Strategy: name, Replicas: 1, Env: patient(nil)},
			Load: fire.Config{
				Path: history.PathDeduct, Concurrency: 32, Duration: 2 * time.Second,
				Timeout: 30 * time.Second, // a lock of the killed service lasts until its session ends
				Mix:     fire.Mix{Goods: 5, Stock: plenty, ItemsMax: 3, NumMax: 3, Repeat: 0.1},
			},
		}
		all = append(all, []trial.Experiment{
			breaking(calm, Calm), breaking(calm, Killed, kill), breaking(calm, Flushed, flushes...),
		})
	}
	return all
}

// failing lets one of three stock services fail for twenty seconds in a minute of whole orders, with the services' own
// time limits. The products are enough for every partition, and so few that each is asked for several times a second.
func failing() []trial.Experiment {
	calm := trial.Experiment{
		Services: trial.Services{Strategy: Default, Replicas: 3},
		Load: fire.Config{
			Path: history.PathOrder, Concurrency: 64, Duration: time.Minute, Timeout: 15 * time.Second,
			Mix: fire.Mix{Goods: 32, Stock: plenty, ItemsMax: 1, NumMax: 1},
		},
	}
	act := func(action string) trial.Action {
		return trial.Action{Action: action, Target: "stock-1", AfterMS: 20_000, For: 20 * time.Second}
	}
	return []trial.Experiment{breaking(calm, Killed, act("kill")), breaking(calm, Paused, act("pause"))}
}

// undergo runs experiments on the services of the first, and adds the survivors to the result.
func (cfg Config) undergo(ctx context.Context, all []trial.Experiment, result *Result) (err error) {
	c, err := cfg.open(ctx, all[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close(ctx)) }()
	for _, c.Experiment = range all {
		cfg.say("what %s keeps: %s", c.Services.Strategy, c.Name)
		load := c.Load
		load.Mix.Seed = cfg.Seed
		r, err := c.run(ctx, load)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		verdict, err := trial.On(c.system, load).Judge(ctx, r.History)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		total := r.History.Measure()
		s := Survival{
			Strategy: c.Services.Strategy, Fault: c.Name, Told: total.Confirmed, Answers: total.Orders, Other: total.Unknown,
			Verdict: verdict.Outcome, Broken: verdict.Violated(),
		}
		if len(r.Strikes) > 0 {
			s.FirstSuccessS = firstSuccess(r.History, r.Strikes[0].Armed)
		}
		result.Survival = append(result.Survival, s)
		fmt.Fprintf(cfg.Table, "%-19s %-8s %7d acknowledged  %s %v\n", s.Strategy, s.Fault, s.Told, s.Verdict, s.Broken)
	}
	return nil
}

// firstSuccess returns how many seconds after the fault every product was sold again, or -1.
func firstSuccess(h *history.History, struck time.Time) float64 {
	at := struck.Sub(h.Started)
	sold := map[int64]time.Duration{} // when each product was first sold again
	for _, c := range h.Calls {
		if c.Kind != history.Place || c.Status != history.Confirmed && c.Status != history.Done || c.Sent < at {
			continue
		}
		for _, item := range h.Items(int(c.Op)) {
			if first, some := sold[item.GoodsID]; !some || c.Done < first {
				sold[item.GoodsID] = c.Done
			}
		}
	}
	if len(sold) < len(h.Goods) {
		return -1
	}
	return (slices.Max(slices.Collect(maps.Values(sold))) - at).Seconds()
}

// lost reports whether a strategy that is not unsafe has another verdict than pass.
func (s Survival) lost() bool {
	info, err := deduct.Find(s.Strategy)
	return s.Verdict != verify.Pass && (err != nil || !info.Unsafe())
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
