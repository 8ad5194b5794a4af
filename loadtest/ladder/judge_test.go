package ladder_test

import (
	"errors"
	"strings"
	"testing"

	"orderstock/loadtest/history"
	"orderstock/loadtest/ladder"
	"orderstock/loadtest/verify"
	"orderstock/pkg/command"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	result := func(strategy string, verdict verify.Outcome) *ladder.Result {
		return &ladder.Result{
			Rows: []ladder.Row{{Strategy: strategy, Goods: 1, Clients: 64, Verdict: verdict}},
		}
	}
	for name, test := range map[string]struct {
		err     error
		text    string // "" for no error
		failure bool
	}{
		"all is well":              {err: result(ladder.Default, "pass").Judge()},
		"a violation":              {result(ladder.Default, "violation").Judge(), "verdict violation on grouped", true},
		"a verdict of unknown":     {result(ladder.Default, "unknown").Judge(), "verdict unknown on grouped", false},
		"a violation of unsafe":    {err: result(ladder.Unsafe, "violation").Judge()},
		"unsafe was not found out": {result(ladder.Unsafe, "pass").Judge(), "verdict pass on unsafe", true},
		"a violation of a holder that failed": {
			(&ladder.Result{Survival: []ladder.Row{{Verdict: "violation"}}}).Judge(), "verdict violation", true,
		},
	} {
		if (test.err == nil) != (test.text == "") || test.err != nil && !strings.Contains(test.err.Error(), test.text) {
			t.Errorf("%s: %v, want %q", name, test.err, test.text)
		}
		if _, failure := errors.AsType[*command.ExitError](test.err); failure != test.failure {
			t.Errorf("%s: a failure: %t", name, failure)
		}
	}
}

func TestPlanCheck(t *testing.T) {
	t.Parallel()
	for _, plan := range []ladder.Plan{ladder.Full(), ladder.Quick()} {
		if err := plan.Check(); err != nil {
			t.Error(err)
		}
	}
	for want, change := range map[string]func(*ladder.Plan){
		`strategy "groupde": want one of unsafe`: func(p *ladder.Plan) { p.Strategies = []string{"groupde"} },
		"0 clients or replicas":                  func(p *ladder.Plan) { p.Clients = []int{0} },
		"10001 clients or replicas":              func(p *ladder.Plan) { p.Replicas = []int{10_001} },
	} {
		plan := ladder.Full()
		change(&plan)
		if err := plan.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The losses of an unsafe strategy are shown, but are no failure.
func TestJudgeSurvival(t *testing.T) {
	t.Parallel()
	lost := func(strategy string, verdict verify.Outcome) error {
		return (&ladder.Result{Survival: []ladder.Row{
			{Strategy: strategy, Fault: ladder.Flushed, Verdict: verdict, Broken: []string{"acknowledged-order-kept"}},
		}}).Judge()
	}
	if err := lost("unsafe", "violation"); err != nil {
		t.Errorf("unsafe: %v", err)
	}
	if err := lost(ladder.Default, "pass"); err != nil {
		t.Errorf("%s keeps all: %v", ladder.Default, err)
	}
	err := lost(ladder.Default, "violation")
	if _, failure := errors.AsType[*command.ExitError](err); !failure || !strings.Contains(err.Error(), "flushed") {
		t.Errorf("%s loses some: %v; want a failure that names the fault", ladder.Default, err)
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
