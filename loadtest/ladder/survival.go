package ladder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/pkg/redisdb"
	"orderstock/stock-service/deduct/strategy"
)

// Survival counts the acknowledged deductions that a strategy kept when something broke.
type Survival struct {
	Strategy string `json:"strategy"`
	// Fault is one of Faults.
	Fault string `json:"fault"`
	// Told is the number of acknowledged deductions, before the fault and after it.
	Told int `json:"told"`
	// Verdict is the verifier's, and Broken names the invariants that do not hold.
	Verdict verify.Outcome `json:"verdict"`
	Broken  []string       `json:"broken,omitempty"`
}

// The faults.
const (
	// Calm is no fault.
	Calm = "calm"
	// Killed is the only stock service killed and started again.
	Killed = "killed"
	// Flushed is Redis emptied, several times within half a second.
	Flushed = "flushed"
	paused  = "paused" // of FailingRow alone
)

// Faults lists the faults of Survival.
var Faults = []string{Calm, Killed, Flushed}

const (
	survivalClients = 32
	survivalTime    = 2 * time.Second
	strikeAt        = survivalTime / 2
	// flushes is how often Redis is emptied: at one moment there may be nothing in it to lose.
	flushes = 10
)

// measureSurvival puts every strategy of the plan but Direct through every fault,
// and adds a Survival for each to the result.
func measureSurvival(ctx context.Context, cfg Config, result *Result) error {
	for _, name := range slices.Compact(slices.Clone(cfg.Plan.Strategies)) {
		if name == Direct {
			continue
		}
		cfg.say("what %s keeps when a service is killed and when Redis is flushed", name)
		if err := survive(ctx, cfg, name, result); err != nil {
			return fmt.Errorf("what survives under %s: %w", name, err)
		}
	}
	return nil
}

func survive(ctx context.Context, cfg Config, name string, result *Result) (err error) {
	c, err := open(ctx, cfg, variant{shape: shape{name, 1}}, PathDeduct)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close(ctx)) }()
	for _, fault := range Faults {
		s, err := c.survive(ctx, cfg, fault)
		if err != nil {
			return fmt.Errorf("%s: %w", fault, err)
		}
		result.Survival = append(result.Survival, s)
		fmt.Fprintf(cfg.Table, "%-19s %-8s %7d acknowledged  %s %v\n", name, fault, s.Told, s.Verdict, s.Broken)
	}
	return nil
}

// survive fires deductions of several products, some of them twice, lets the fault strike in the middle, and judges.
func (c *contestant) survive(ctx context.Context, cfg Config, fault string) (s Survival, err error) {
	t := trial.On(c.system, fire.Config{
		Path: history.PathDeduct, Concurrency: survivalClients, Duration: survivalTime,
		Timeout: 30 * time.Second, // a lock of the killed service lasts until its session ends
		Mix:     fire.Mix{Goods: 5, Stock: plenty, ItemsMax: 3, NumMax: 3, Repeat: 0.1, Seed: cfg.Seed},
	})
	stop, err := c.asOrderService(&t.Load)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if fault != Calm {
		t.Acts = []trial.Timed{{At: strikeAt, Act: c.act(fault)}}
	}
	r, err := t.Fire(ctx)
	if err != nil {
		return s, err
	}
	verdict, err := t.Judge(ctx, r.History)
	if err != nil {
		return s, err
	}
	return Survival{
		Strategy: c.strategy, Fault: fault, Told: r.History.Measure().Confirmed,
		Verdict: verdict.Outcome, Broken: verdict.Violated(),
	}, nil
}

// act returns the fault.
func (c *contestant) act(fault string) *trial.Simple {
	victim := c.stack.Stock[0]
	switch fault {
	case Killed:
		return &trial.Simple{Do: func(context.Context) error { return victim.Kill() }, Undo: victim.Restart}
	case paused:
		return &trial.Simple{
			Do:   func(context.Context) error { return victim.Pause() },
			Undo: func(context.Context) error { return victim.Resume() },
		}
	default: // Flushed
		return &trial.Simple{Do: c.flush}
	}
}

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
	info, err := strategy.Find(s.Strategy)
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
