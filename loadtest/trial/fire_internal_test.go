package trial

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/verify"
	"orderstock/pkg/servers/serverstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, serverstest.Goroutines()...) }

// Both stock services are killed in the middle of a load and started again; the run is struck once, kept and judged,
// and says how long after the heal the orders ended that waited.
func TestRun(t *testing.T) {
	st := systemtest.Up(t, systemtest.Build(t), func(*system.Config) {})
	e := Experiment{
		Name: "killed", Acts: []Action{{Action: "kill", Target: "stock-" + Every, AfterMS: 500, For: 300 * time.Millisecond}},
		Load: fire.Config{
			Orders: 200, Rate: 100, Concurrency: 16, Timeout: 4 * time.Second, Patience: 15 * time.Second,
			Mix: fire.Mix{Goods: 3, Stock: 60, Repeat: 0.2, Cancel: 0.2},
		},
	}
	ready := false
	e.Ready = func(context.Context, *Run) error {
		ready = st.Stocks[0].Running()
		return nil
	}
	r := e.Run(t.Context(), st, 1, nil, nil)
	if r.Outcome != verify.Pass {
		t.Fatal(r.Outcome, r.Why)
	}
	s := r.Acts[0]
	if s.Fired != 1 || !ready || s.Healed.Sub(s.Struck) < 300*time.Millisecond || s.Armed.After(s.Struck) {
		t.Errorf("strike %+v, ready %t; want one, held for 300 ms, and a service that runs again", s, ready)
	}
	acts, lasts := r.History.Acts, s.Healed.Sub(s.Armed)+st.SessionTimeout()
	if len(acts) != 1 || acts[0].Cause != "kill at stock-*" || (acts[0].To-acts[0].From-lasts).Abs() > time.Millisecond {
		t.Errorf("the history has the acts %+v; want one of %s, a session timeout after the heal", acts, lasts)
	}
	if ends := r.History.Started.Add(acts[0].To); !st.Shaken.Equal(ends) {
		t.Errorf("the services are shaken until %s, want %s", st.Shaken, ends)
	}
	st.Shaken = time.Now().Add(time.Hour) // however long the judgement took
	next := Experiment{Load: fire.Config{Orders: 10, Mix: fire.Mix{Goods: 1, Stock: 5}}}.begin(st, 2, nil, nil)
	if err := next.fire(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := st.Shaken.Sub(next.History.Started)
	if acts := next.History.Acts; len(acts) != 1 || acts[0].From != 0 || (acts[0].To-left).Abs() > time.Millisecond {
		t.Errorf("the next run on these services has the acts %+v; want one until %s", acts, left)
	}
	if len(r.SettleMS) == 0 || slices.Max(r.SettleMS) == 0 {
		t.Errorf("orders ended %v ms after the heal; want some that had to wait", r.SettleMS)
	}
	out := t.TempDir()
	if err := keepEvidence(t.Context(), st, r, out); err != nil {
		t.Fatal(err)
	}
	h, err := history.Open(filepath.Join(out, "killed@1", "history.jsonl"))
	if err != nil || h.Orders() != 200 {
		t.Errorf("kept history: %v; want 200 orders", err)
	}
	if logs, err := filepath.Glob(filepath.Join(out, "killed@1", "logs", "*.log")); err != nil || len(logs) < 2 {
		t.Errorf("kept logs: %q, %v; want one of each service", logs, err)
	}
}

// An act on the connections of every replica strikes each of them, and heals each.
func TestEveryReplicasConnection(t *testing.T) {
	st := systemtest.Up(t, systemtest.Build(t), func(*system.Config) {})
	for _, s := range st.Stocks {
		w, err := system.NewWire(s.Name(), serverstest.ZooKeeper(t).Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Close)
		s.Wires = map[string][]*system.Wire{system.ToZooKeeper: {w}}
	}
	act := New(st, Action{Action: "slow", Target: "stock-" + Every, Wire: system.ToZooKeeper})
	for _, turn := range []struct {
		do     func(context.Context) error
		broken bool
	}{{act.Arm, true}, {act.Heal, false}} {
		if err := turn.do(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, s := range st.Stocks {
			if slow := s.Wires[system.ToZooKeeper][0].Broken(); slow != turn.broken {
				t.Errorf("%s: its connection is slow: %t, want %t", s.Name(), slow, turn.broken)
			}
		}
	}
}

// harmless breaks nothing.
func harmless(context.Context) error { return nil }

// TestFire: acts begin, follow one another and are healed as they say.
func TestFire(t *testing.T) {
	st := systemtest.Up(t, systemtest.Build(t), func(*system.Config) {})
	run := func(orders, rate int, acts ...*Act) *Run {
		e := Experiment{Load: fire.Config{Orders: orders, Rate: float64(rate), Mix: fire.Mix{Goods: 1, Stock: 10}}}
		r := e.begin(st, 1, nil, nil)
		r.Acts = acts
		return r
	}
	t.Run("the load ends first", func(t *testing.T) {
		late := &Act{Action: Action{}.At(time.Minute)}
		if err := run(2, 0, late).fire(t.Context()); !errors.Is(err, ErrOver) {
			t.Errorf("got %v, want that nothing broke", err)
		}
		late.Action.Optional = true
		r := run(2, 0, late)
		if err := r.fire(t.Context()); err != nil || !errors.Is(r.Acts[0].Err, ErrOver) {
			t.Errorf("got %+v, %v; want a run, in which nothing broke", r.Result, err)
		}
	})
	t.Run("several acts", func(t *testing.T) {
		const apart = 200 * time.Millisecond
		healed, mended := false, false
		failing := &Act{
			Action: Action{Optional: true}.At(apart), Do: func(context.Context) error { return errors.New("no such thing") },
		}
		lasting := &Act{Do: harmless, Undo: func(context.Context) error { healed = true; return nil }}
		r := run(100, 100, lasting, failing)
		r.mend = func(context.Context) error { mended = healed; return nil }
		if err := r.fire(t.Context()); err != nil {
			t.Fatal(err)
		}
		over := r.History.Started.Add(r.History.Elapsed)
		first, second := r.Acts[0], r.Acts[1]
		if !mended || first.Err != nil || first.Healed.Before(over) || second.Err == nil ||
			second.Armed.Sub(r.History.Started) < apart {
			t.Errorf("mended: %t, strikes %+v; want one until the load is over at %s, and a later one that failed", mended,
				r.Acts, over)
		}
	})
	t.Run("the load ends after the heal", func(t *testing.T) {
		r, healed := run(100_000, 50), false
		r.Experiment.After = 300 * time.Millisecond
		r.Acts = []*Act{{
			Action: Action{EndsLoad: true, For: 200 * time.Millisecond},
			Do: func(ctx context.Context) error {
				for r.Live.Counts().Orders == 0 {
					if err := Sleep(ctx, 10*time.Millisecond); err != nil {
						return err
					}
				}
				return nil
			},
			Undo: func(context.Context) error { healed = true; return nil },
		}}
		if err := r.fire(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after := r.History.Started.Add(r.History.Elapsed).Sub(r.Acts[0].Healed); after < r.Experiment.After {
			t.Errorf("the load went on for %s after the heal, want %s", after, r.Experiment.After)
		}
		v, err := st.Judge(t.Context(), verify.Config{History: r.History})
		if n := r.History.Orders(); err != nil || !healed || n == 0 || n == 100_000 || v.Outcome != verify.Pass {
			t.Errorf("%d orders, healed %t, %v, %v; want some, healed, and a pass", n, healed, v, err)
		}
	})
	t.Run("one after the other", func(t *testing.T) {
		const apart = 100 * time.Millisecond
		act := func(a Action) *Act { return &Act{Action: a, Do: harmless} }
		r := run(100_000, 100,
			act(Action{For: 3 * apart}), act(Action{For: apart}),
			act(Action{For: apart, Then: true, EndsLoad: true}.At(apart)), act(Action{For: apart}.At(apart)),
		)
		r.Experiment.Least = 80
		if err := r.fire(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := r.Acts
		if s[1].Armed.After(s[0].Healed) || s[2].Armed.Sub(s[0].Healed) < apart || s[3].Armed.Sub(s[0].Healed) < apart {
			t.Errorf("%+v; want the first two together, and the others when both are over", s)
		}
		if n := r.History.Orders(); n < 80 || n == 100_000 {
			t.Errorf("%d orders; want at least 80, and that the load ends with an act", n)
		}
	})
	t.Run("an act that fails ends the load", func(t *testing.T) {
		failed := errors.New("no such thing")
		r := run(100_000, 50, &Act{Do: func(context.Context) error { return failed }})
		if err := r.fire(t.Context()); !errors.Is(err, failed) {
			t.Errorf("%v, want that the act failed", err)
		}
	})
	t.Run("what was broken is healed after an interrupt", func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		healed := false
		r := run(100_000, 50, &Act{
			Action: Action{For: time.Minute}, Do: func(context.Context) error { interrupt(); return nil },
			Undo: func(ctx context.Context) error { healed = ctx.Err() == nil; return nil },
		})
		if err := r.fire(ctx); !errors.Is(err, context.Canceled) || !healed {
			t.Errorf("%v, healed %t; want the interrupt, and a heal that it does not stop", err, healed)
		}
	})
}

// The strikes since Arm count, also if the server that counts them begins anew.
func TestActCounts(t *testing.T) {
	t.Parallel()
	count := 5
	act := &Act{
		Do:    harmless,
		Count: func(context.Context) (int, error) { return count, nil },
	}
	if err := act.Arm(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ count, want int }{{5, 0}, {7, 2}, {1, 1}, {3, 3}} {
		count = c.count
		if n, err := act.strikes(t.Context()); err != nil || n != c.want {
			t.Errorf("the server counts %d: %d strikes, %v; want %d", count, n, err, c.want)
		}
	}
	if err := act.Heal(t.Context()); err != nil {
		t.Errorf("heal without Undo: %v", err)
	}
}
