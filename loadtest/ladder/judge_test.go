package ladder_test

import (
	"strings"
	"testing"

	"orderstock/loadtest/history"
	"orderstock/loadtest/ladder"
	"orderstock/loadtest/verify"
)

func TestOutcome(t *testing.T) {
	t.Parallel()
	row := func(strategy string, verdict verify.Outcome) *ladder.Result {
		return &ladder.Result{Rows: []ladder.Row{{Strategy: strategy, Goods: 1, Clients: 64, Verdict: verdict}}}
	}
	lost := func(strategy string, verdict verify.Outcome) *ladder.Result {
		return &ladder.Result{Survival: []ladder.Row{{Strategy: strategy, Fault: ladder.Flushed, Verdict: verdict}}}
	}
	for name, test := range map[string]struct {
		of   *ladder.Result
		want verify.Outcome
	}{
		"all is well":                          {row(ladder.Default, "pass"), verify.Pass},
		"a violation":                          {row(ladder.Default, "violation"), verify.Violation},
		"a verdict of unknown":                 {row(ladder.Default, "unknown"), verify.Unknown},
		"a violation of unsafe":                {row(ladder.Unsafe, "violation"), verify.Pass},
		"unsafe was not found out":             {row(ladder.Unsafe, "pass"), verify.Violation},
		"a holder that failed, and lost some":  {lost(ladder.Default, "violation"), verify.Violation},
		"a holder that failed, and kept all":   {lost(ladder.Default, "pass"), verify.Pass},
		"an unsafe strategy loses some, shown": {lost(ladder.Unsafe, "violation"), verify.Pass},
	} {
		var text strings.Builder
		if err := test.of.Sheet().Text(&text); err != nil {
			t.Fatal(err)
		}
		shown := strings.Contains(text.String(), "Broken")
		if got := test.of.Outcome(); got != test.want || shown != (got != verify.Pass) {
			t.Errorf("%s: %s, want %s; the row is shown: %t\n%s", name, got, test.want, shown, &text)
		}
	}
}

// TestPlanCheck of the plans without flags. The tests of the command give wrong ones.
func TestPlanCheck(t *testing.T) {
	t.Parallel()
	for _, plan := range []ladder.Plan{ladder.Full(), ladder.Quick()} {
		if err := plan.Check(); err != nil {
			t.Error(err)
		}
	}
}

func TestTheLimitIsNoStrategyAndOneProcess(t *testing.T) {
	t.Parallel()
	plan := ladder.Plan{
		Strategies: []string{ladder.Default, ladder.Direct}, Replicas: []int{1, 3}, Clients: []int{1}, Goods: []int{1},
		Paths: []history.Path{history.PathDeduct},
	}
	if err := plan.Check(); err != nil || plan.Size() != 3 {
		t.Errorf("%d rows, %v; want grouped with one and with three replicas, and the limit", plan.Size(), err)
	}
}
