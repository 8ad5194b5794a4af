package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/pkg/command"
)

// What a failing run leaves is judged again without its databases, with the same verdict. A strategy that oversells is
// found out.
func TestEvidenceIsJudgedAgain(t *testing.T) {
	t.Parallel()
	on := systemtest.Up(t, systemtest.Build(t), func(*system.Config) {})
	load := fire.Config{
		Path: history.PathDeduct, Orders: 300, Concurrency: 32, Mix: fire.Mix{Goods: 1, Stock: 100, ItemsMax: 1},
	}
	check := func(end func(r *trial.Run) error) []trial.Check {
		at := func(_ context.Context, r *trial.Run) error { return end(r) }
		return []trial.Check{trial.When(trial.Judged, "demand", at)}
	}
	experiments := []trial.Experiment{
		{Name: "oversold", Load: load, Services: trial.Services{Strategy: "unsafe", Fresh: true}},
		{Name: "a demand is not met", Load: load, Checks: check(func(r *trial.Run) error {
			r.Violate("demand", 2, "it is not met")
			return nil
		})},
		{Name: "nothing is proved", Load: load, Checks: check(func(*trial.Run) error { return errors.New("no server") })},
	}
	out := t.TempDir()
	s := trial.Suite{Table: "table", Experiments: experiments, Out: out, On: on}
	report, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range report.Rows {
		for _, run := range row.Ended {
			if run.History != nil {
				t.Errorf("%s: the table keeps the history of a run that is over", row.Name)
			}
		}
	}
	for _, e := range experiments {
		folder := filepath.Join(out, "table", e.Name+"@1")
		text, err := os.ReadFile(filepath.Join(folder, "run.json"))
		if err != nil {
			t.Fatal(err)
		}
		var run struct {
			Outcome verify.Outcome
			Verdict verify.Verdict
		}
		if err := json.Unmarshal(text, &run); err != nil {
			t.Fatal(err)
		}
		printed, _, exit := program(t.Context(), "verify", "--evidence", folder, "--json")
		var again verify.Verdict
		if err := json.Unmarshal([]byte(printed), &again); err != nil {
			t.Fatal(err)
		}
		if again.Outcome != run.Outcome || exit != run.Outcome.ExitCode() || exit == command.Passed {
			t.Errorf("%s: %s with exit code %d, the run was %s: %v", e.Name, again.Outcome, exit, run.Outcome, again.Reasons)
		}
		if again.String() != run.Verdict.String() && e.Name != "nothing is proved" { // its verdict was not concluded
			t.Errorf("%s: judged again\n%s\nthe run\n%s", e.Name, &again, &run.Verdict)
		}
		violations := func(v verify.Verdict) map[string]int {
			all := map[string]int{}
			for _, i := range v.Invariants {
				all[i.Name] = i.Violations
			}
			return all
		}
		was := violations(run.Verdict)
		oversold := run.Verdict.Oversold > 0 && was[verify.NotOversold] > 0 && was[verify.StockBalances] > 0
		if oversold != (e.Services.Strategy == "unsafe") {
			t.Errorf("%s: %s; oversold: %t", e.Name, &run.Verdict, oversold)
		}
		for name, n := range violations(again) {
			if n != was[name] {
				t.Errorf("%s: %s: %d violations, the run had %d", e.Name, name, n, was[name])
			}
		}
		if _, err := os.Stat(filepath.Join(folder, "verdict.json")); err != nil {
			t.Error(err)
		}
	}
}
