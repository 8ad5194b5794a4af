package ladder_test

import (
	"slices"
	"testing"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/ladder"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/verify"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

// The limit makes deductions and orders that pass the verifier, and every strategy
// that is measured is put through every fault.
// It takes a minute: the verdict waits until no call that the killed service left unanswered can still be in progress.
func TestASmallLadder(t *testing.T) {
	t.Parallel()
	redis, err := servers.StartRedis(t.Context(), servers.Options{Dir: t.TempDir()}) // its own: it is flushed
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = redis.Kill() })
	cfg := ladder.Config{
		Servers: &system.Servers{MySQL: serverstest.MySQL(t), Redis: redis, ZooKeeper: serverstest.ZooKeeper(t)},
		Bin:     systemtest.Build(t), Dir: t.TempDir(),
		Warmup: 20 * time.Millisecond, Measure: time.Second,
	}
	run := func() (r *ladder.Result, told bool) {
		r, err := cfg.Run(t.Context(), ladder.Plan{
			Strategies: []string{ladder.Default, ladder.Direct}, Replicas: []int{1}, Clients: []int{32}, Goods: []int{1},
			Paths: []history.Path{history.PathDeduct, history.PathOrder}, Faults: true, SellOut: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		return r, !slices.ContainsFunc(slices.Concat(r.Rows, r.Survival), func(row ladder.Row) bool {
			return row.Verdict == verify.Unknown
		})
	}
	r, told := run()
	if !told { // a machine that stands still for a second leaves too little calm to tell
		r, _ = run()
	}
	for _, row := range r.Rows {
		if row.Verdict != "pass" || row.DonePerS <= 0 {
			t.Errorf("%+v", row)
		}
	}
	if len(r.Rows) != 8 || len(r.Survival) != 3 {
		t.Errorf("%d rows, %d times survival; want 8, 3", len(r.Rows), len(r.Survival))
	}
	for _, s := range r.Survival {
		t.Logf("%+v", s)
		if s.DonePerS <= 0 || s.Verdict != "pass" {
			t.Errorf("%+v", s)
		}
	}
}
