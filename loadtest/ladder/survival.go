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
	"orderstock/pkg/redisdb"
	"orderstock/stock-service/deduct"
)

// Survival is a run in which something broke.
type Survival struct {
	Strategy string `json:"strategy"`
	Fault    string `json:"fault" col:"Fault"`
	// Told is how many sales were acknowledged, before the fault and after it.
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

// Faults lists the faults that every strategy is put through.
var Faults = []string{Calm, Killed, Flushed}

// ordeal is a load in whose middle something breaks, at a time and for a time.
type ordeal struct {
	variant
	faults   []string
	at, last time.Duration
	load     fire.Config
}

// survive puts every strategy of the plan but Direct through every fault, with the only stock service. It fires
// deductions of several products, some of them twice.
func (cfg Config) survive(ctx context.Context, plan Plan, result *Result) error {
	for _, name := range slices.Compact(slices.Clone(plan.Strategies)) {
		if name == Direct {
			continue
		}
		cfg.say("what %s keeps when a service is killed and when Redis is flushed", name)
		err := cfg.undergo(ctx, result, ordeal{
			variant: variant{strategy: name, replicas: 1}, faults: Faults, at: time.Second,
			load: fire.Config{
				Path: history.PathDeduct, Concurrency: 32, Duration: 2 * time.Second,
				Timeout: 30 * time.Second, // a lock of the killed service lasts until its session ends
				Mix:     fire.Mix{Goods: 5, Stock: plenty, ItemsMax: 3, NumMax: 3, Repeat: 0.1, Seed: cfg.Seed},
			},
		})
		if err != nil {
			return fmt.Errorf("what survives under %s: %w", name, err)
		}
	}
	return nil
}

// fail lets one of three stock services fail for twenty seconds in a minute of whole orders, once for each fault. The
// products are enough for every partition, and so few that each is asked for several times in a second.
func (cfg Config) fail(ctx context.Context, result *Result) error {
	cfg.say("two minutes of orders, with a holder killed, then paused")
	return cfg.undergo(ctx, result, ordeal{
		variant: variant{strategy: Default, replicas: 3, impatient: true}, faults: []string{Killed, Paused},
		at: 20 * time.Second, last: 20 * time.Second,
		load: fire.Config{
			Path: history.PathOrder, Concurrency: 64, Duration: time.Minute, Timeout: 15 * time.Second,
			Mix: fire.Mix{Goods: 32, Stock: plenty, ItemsMax: 1, NumMax: 1, Seed: cfg.Seed},
		},
	})
}

// undergo puts a variant through its faults, and adds what survived to the result.
func (cfg Config) undergo(ctx context.Context, result *Result, o ordeal) (err error) {
	c, err := cfg.open(ctx, o.variant, string(o.load.Path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close(ctx)) }()
	for _, fault := range o.faults {
		var acts []trial.Timed
		if fault != Calm {
			acts = []trial.Timed{{At: o.at, Act: c.act(fault, o.last)}}
		}
		r, err := c.run(ctx, o.load, acts...)
		if err != nil {
			return fmt.Errorf("%s: %w", fault, err)
		}
		verdict, err := trial.On(c.system, o.load).Judge(ctx, r.History)
		if err != nil {
			return fmt.Errorf("%s: %w", fault, err)
		}
		total := r.History.Measure()
		s := Survival{
			Strategy: o.strategy, Fault: fault, Told: total.Confirmed, Answers: total.Orders, Other: total.Unknown,
			Verdict: verdict.Outcome, Broken: verdict.Violated(),
		}
		if fault != Calm {
			s.FirstSuccessS = firstSuccess(r.History, r.Strikes[0].Armed)
		}
		result.Survival = append(result.Survival, s)
		fmt.Fprintf(cfg.Table, "%-19s %-8s %7d acknowledged  %s %v\n", s.Strategy, fault, s.Told, s.Verdict, s.Broken)
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

// act returns the fault.
func (c *contestant) act(fault string, last time.Duration) *trial.Simple {
	victim := c.stack.Stock[0]
	switch fault {
	case Killed:
		return &trial.Simple{Do: func(context.Context) error { return victim.Kill() }, Undo: victim.Restart, For: last}
	case Paused:
		return &trial.Simple{
			Do:   func(context.Context) error { return victim.Pause() },
			Undo: func(context.Context) error { return victim.Resume() }, For: last,
		}
	default: // Flushed
		return &trial.Simple{Do: c.flush}
	}
}

// flushes is how often Redis is emptied: at one moment there may be nothing in it to lose.
const flushes = 10

// flush empties Redis several times.
func (c *contestant) flush(ctx context.Context) (err error) {
	client := redisdb.Open(redisdb.Server{Addrs: []string{c.stack.Servers.Redis.Addr()}}, 3*time.Second)
	for range flushes {
		err = errors.Join(err, client.FlushAll(ctx).Err())
		time.Sleep(50 * time.Millisecond)
	}
	return errors.Join(err, client.Close())
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
