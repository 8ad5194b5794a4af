package trial_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/pkg/servers/serverstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, serverstest.Goroutines()...) }

// A stock service is killed in the middle of a load and started again; the run is struck once, kept and judged.
func TestRun(t *testing.T) {
	st := systemtest.Up(t, systemtest.Build(t), func(*system.Config) {})
	victim := st.Stocks[0]
	ready := false
	keep := t.TempDir()
	try := trial.On(st, fire.Config{
		Orders: 200, Rate: 100, Concurrency: 16, Timeout: 4 * time.Second,
		Mix: fire.Mix{Goods: 3, Stock: 60, Repeat: 0.2, Cancel: 0.2, Seed: 1},
	})
	try.Keep = keep
	try.Acts = []trial.Timed{{Action: trial.Action{AfterMS: 500}, Act: &trial.Act{
		Do: func(context.Context) error { return victim.Kill() }, Undo: victim.Restart, For: 300 * time.Millisecond,
	}}}
	try.Ready = func(context.Context) error {
		ready = victim.Running()
		return nil
	}
	r, err := try.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict.Outcome != verify.Pass {
		t.Error(r.Verdict)
	}
	s := r.Strikes[0]
	if s.Fired != 1 || !ready || s.Healed.Sub(s.Struck) < 300*time.Millisecond || s.Armed.After(s.Struck) {
		t.Errorf("strike %+v, ready %t; want one, held for 300 ms, and a service that runs again", s, ready)
	}
	if h, err := history.Open(filepath.Join(keep, "history.jsonl")); err != nil || h.Orders() != 200 {
		t.Errorf("kept history: %v; want 200 orders", err)
	}

	t.Run("the load ends first", func(t *testing.T) {
		try := trial.On(st, fire.Config{Orders: 2, Mix: fire.Mix{Goods: 1, Stock: 10}})
		try.Acts = []trial.Timed{{Action: trial.Action{}.At(time.Minute), Act: &trial.Act{}}}
		if _, err := try.Run(t.Context()); !errors.Is(err, trial.ErrOver) {
			t.Errorf("got %v, want that nothing broke", err)
		}
		try.Acts[0].Action.Optional = true
		if r, err := try.Run(t.Context()); err != nil || !errors.Is(r.Strikes[0].Err, trial.ErrOver) {
			t.Errorf("got %+v, %v; want a run, in which nothing broke", r, err)
		}
	})
	t.Run("several acts", func(t *testing.T) {
		const apart = 200 * time.Millisecond
		try := trial.On(st, fire.Config{Orders: 100, Rate: 100, Mix: fire.Mix{Goods: 1, Stock: 10}})
		failing := &trial.Act{Do: func(context.Context) error { return errors.New("no such thing") }}
		lasting := &trial.Act{Do: func(context.Context) error { return nil }, For: trial.UntilOver}
		try.Acts = []trial.Timed{{Act: lasting}, {Act: failing, Action: trial.Action{Optional: true}.At(apart)}}
		healed, mended := false, false
		lasting.Undo = func(context.Context) error { healed = true; return nil }
		try.Mend = func(context.Context) error { mended = healed; return nil }
		r, err := try.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		over := r.History.Started.Add(r.History.Elapsed)
		first, second := r.Strikes[0], r.Strikes[1]
		if !mended || first.Err != nil || first.Healed.Before(over) || second.Err == nil ||
			second.Armed.Sub(first.Armed) < apart/2 {
			t.Errorf("mended: %t, strikes %+v; want one until the load is over at %s, and a later one that failed", mended,
				r.Strikes, over)
		}
	})
	t.Run("the load ends with the heal", func(t *testing.T) {
		try := trial.On(st, fire.Config{Orders: 100_000, Rate: 50, Mix: fire.Mix{Goods: 1, Stock: 10}})
		healed, live := false, &fire.Live{}
		try.Load.Live = live
		try.Acts = []trial.Timed{{Action: trial.Action{EndsLoad: true}, Act: &trial.Act{
			Do: func(ctx context.Context) error {
				for live.Counts().Orders == 0 {
					if err := trial.Sleep(ctx, 10*time.Millisecond); err != nil {
						return err
					}
				}
				return nil
			},
			For:  200 * time.Millisecond,
			Undo: func(context.Context) error { healed = true; return nil },
		}}}
		r, err := try.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := r.History.Orders(); !healed || n == 0 || n == 100_000 || r.Verdict.Outcome != verify.Pass {
			t.Errorf("%d orders, healed %t, %v; want some, healed, and a pass", n, healed, r.Verdict)
		}
	})
	t.Run("one after the other", func(t *testing.T) {
		try := trial.On(st, fire.Config{Orders: 100_000, Rate: 100, Mix: fire.Mix{Goods: 1, Stock: 10}})
		act := func(d time.Duration) *trial.Act {
			return &trial.Act{Do: func(context.Context) error { return nil }, For: d}
		}
		const apart = 100 * time.Millisecond
		try.Acts = []trial.Timed{
			{Act: act(3 * apart)},
			{Act: act(apart)},
			{Act: act(apart), Action: trial.Action{Then: true, EndsLoad: true}.At(apart)},
			{Act: act(apart), Action: trial.Action{}.At(apart)},
		}
		try.Least = 80
		r, err := try.Fire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := r.Strikes
		if s[1].Armed.After(s[0].Healed) || s[2].Armed.Sub(s[0].Healed) < apart || s[3].Armed.Sub(s[0].Healed) < apart {
			t.Errorf("%+v; want the first two together, and the others when both are over", s)
		}
		if n := r.History.Orders(); n < 80 || n == 100_000 {
			t.Errorf("%d orders; want at least 80, and that the load ends with an act", n)
		}
	})
	t.Run("an act that fails ends the load", func(t *testing.T) {
		try := trial.On(st, fire.Config{Orders: 100_000, Rate: 50, Mix: fire.Mix{Goods: 1, Stock: 10}})
		failed := errors.New("no such thing")
		try.Acts = []trial.Timed{{Act: &trial.Act{Do: func(context.Context) error { return failed }}}}
		if _, err := try.Fire(t.Context()); !errors.Is(err, failed) {
			t.Errorf("%v, want that the act failed", err)
		}
	})
	t.Run("what was broken is healed after an interrupt", func(t *testing.T) {
		try := trial.On(st, fire.Config{Orders: 100_000, Rate: 50, Mix: fire.Mix{Goods: 1, Stock: 10}})
		ctx, interrupt := context.WithCancel(t.Context())
		healed := false
		try.Acts = []trial.Timed{{Act: &trial.Act{
			Do: func(context.Context) error { interrupt(); return nil }, For: time.Minute,
			Undo: func(ctx context.Context) error { healed = ctx.Err() == nil; return nil },
		}}}
		if _, err := try.Fire(ctx); !errors.Is(err, context.Canceled) || !healed {
			t.Errorf("%v, healed %t; want the interrupt, and a heal that it does not stop", err, healed)
		}
	})
}

// The strikes since Arm count, also if the server that counts them begins anew.
func TestActCounts(t *testing.T) {
	t.Parallel()
	count := 5
	act := &trial.Act{
		Do:    func(context.Context) error { return nil },
		Count: func(context.Context) (int, error) { return count, nil },
	}
	if err := act.Arm(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ count, want int }{{5, 0}, {7, 2}, {1, 1}, {3, 3}} {
		count = c.count
		if n, err := act.Fired(t.Context()); err != nil || n != c.want {
			t.Errorf("the server counts %d: %d strikes, %v; want %d", count, n, err, c.want)
		}
	}
	if err := act.Heal(t.Context()); err != nil {
		t.Errorf("heal without Undo: %v", err)
	}
}
