package ladder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/stack"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
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
	Verdict string   `json:"verdict"`
	Broken  []string `json:"broken,omitempty"`
}

// The faults of Survival.
const (
	// Calm is no fault.
	Calm = "calm"
	// Killed is the only stock service killed and started again.
	Killed = "killed"
	// Flushed is Redis emptied, several times within half a second.
	Flushed = "flushed"
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
	names := slices.Compact(slices.Clone(cfg.Plan.Strategies))
	for i, name := range names {
		if name == Direct {
			continue
		}
		cfg.Progress(fmt.Sprintf("what %s keeps when a service is killed and when Redis is flushed", name))
		all, err := survive(ctx, cfg, len(result.Rows)+i+1, name)
		result.Survival = append(result.Survival, all...)
		if err != nil {
			return fmt.Errorf("what survives under %s: %w", name, err)
		}
		for _, s := range all {
			if _, err := fmt.Fprintln(cfg.Table, s.Line()); err != nil {
				return fmt.Errorf("print the table: %w", err)
			}
		}
	}
	return nil
}

func survive(ctx context.Context, cfg Config, n int, name string) (all []Survival, err error) {
	st, err := up(ctx, cfg, n, shape{name, 1}, PathDeduct)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, down(ctx, cfg, st)) }()
	for _, fault := range Faults {
		s := Survival{Strategy: name, Fault: fault}
		if err := s.measure(ctx, cfg, st); err != nil {
			return all, fmt.Errorf("%s: %w", fault, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// measure fires deductions of several products, some of them twice, lets the fault strike in the middle, and judges.
func (s *Survival) measure(ctx context.Context, cfg Config, st *stack.Stack) (err error) {
	load := fire.Config{
		Path: history.PathDeduct, Concurrency: survivalClients, Duration: survivalTime,
		Timeout: 30 * time.Second, // a lock of the killed service lasts until its session ends
		Mix:     fire.Mix{Goods: 5, Stock: plenty, ItemsMax: 3, NumMax: 3, Repeat: 0.1},
	}
	t := trial.On(st, load)
	stop, err := asOrderService(&t.Load, cfg.Servers.Redis.Addr(), 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	t.After = strikeAt
	switch s.Fault {
	case Killed:
		t.Break = &trial.Simple{
			Do:   func(context.Context) error { return st.Stock[0].Kill() },
			Undo: st.Stock[0].Restart,
		}
	case Flushed:
		t.Break = &trial.Simple{Do: func(ctx context.Context) error { return flush(ctx, cfg.Servers.Redis.Addr()) }}
	}
	r, err := t.Fire(ctx)
	if err != nil {
		return err
	}
	if err := written(ctx, st); err != nil {
		return err
	}
	s.Told = r.History.Measure().Confirmed
	verdict, err := t.Judge(ctx, r.History)
	if err != nil {
		return err
	}
	s.Verdict, s.Broken = string(verdict.Outcome), verdict.Violated()
	return nil
}

// flush empties Redis several times.
func flush(ctx context.Context, redisAddr string) (err error) {
	client := redis.NewClient(&redis.Options{Addr: redisAddr})
	for range flushes {
		err = errors.Join(err, client.FlushAll(ctx).Err())
		time.Sleep(50 * time.Millisecond)
	}
	return errors.Join(err, client.Close())
}

// unwritten is the metric of a strategy that writes the ledger later than it answers.
const unwritten = "orderstock_stock_prededuct_unwritten"

// written waits until the stock services have written everything to the ledger, for a minute at most.
func written(ctx context.Context, st *stack.Stack) error {
	deadline := time.Now().Add(time.Minute)
	for _, s := range st.Stock {
		for {
			counts, err := s.Metrics(ctx)
			if err != nil {
				return fmt.Errorf("read the metrics of %s: %w", s.Name(), err)
			}
			if counts[unwritten] == 0 {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("%s still has %.0f operations to write after a minute", s.Name(), counts[unwritten])
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// Line returns what survived as a line to print.
func (s Survival) Line() string {
	return fmt.Sprintf("%-19s %-8s %7d acknowledged  %s %v", s.Strategy, s.Fault, s.Told, s.Verdict, s.Broken)
}

// lost returns the error for a strategy that lost deductions.
func (s Survival) lost() error {
	if info, err := strategy.Find(s.Strategy); err == nil && info.Unsafe() {
		return nil
	}
	if s.Verdict == string(verify.Pass) {
		return nil
	}
	return verdictError(s.Verdict, fmt.Sprintf("verdict %s on %s, %s: %v", s.Verdict, s.Strategy, s.Fault, s.Broken))
}

// broken is the prefix of what survived returns for a violation.
const broken = "broken: "

// survived describes briefly what the fault left; "–" if not measured.
func (r *Result) survived(name, fault string) string {
	for _, s := range r.Survival {
		if s.Strategy != name || s.Fault != fault {
			continue
		}
		switch s.Verdict {
		case string(verify.Pass):
			return "all kept"
		case string(verify.Violation):
			return broken + s.Broken[0] + more(len(s.Broken)-1)
		}
		return s.Verdict
	}
	return "–"
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}
