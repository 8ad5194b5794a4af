package trial

import (
	"context"
	"errors"
	"strings"
	"testing"

	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/verify"
)

// TestAnExperimentThatCannotRunDropsNoOther. Its row is unknown, and so is the report. If none can be run, the suite
// gives up.
func TestAnExperimentThatCannotRunDropsNoOther(t *testing.T) {
	t.Parallel()
	broken := errors.New("no server starts")
	for _, test := range []struct {
		names  string // of the experiments; those that begin with x cannot be run
		runs   string
		wanted map[string]verify.Outcome
	}{
		{"a xb c xd e", "a xb c xd e", map[string]verify.Outcome{"a": "pass", "xb": "unknown", "c": "pass", "e": "pass"}},
		{"xa xb c xd xe xf g", "xa xb c xd xe xf", map[string]verify.Outcome{"c": "pass", "g": "unknown"}},
	} {
		var experiments []Experiment
		for _, name := range strings.Fields(test.names) {
			experiments = append(experiments, Experiment{Name: name})
		}
		var runs []string
		try := func(_ context.Context, e Experiment, _ uint64, _ func(Experiment) (*Result, error)) (*Result, error) {
			if runs = append(runs, e.Name); e.Name[0] == 'x' {
				return nil, broken
			}
			return &Result{Experiment: e.Name, Outcome: verify.Pass}, nil
		}
		report, err := Suite{Experiments: experiments, On: systemtest.Idle(t), Stage: &Stage{Try: try}}.Run(t.Context())
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), "run x") || report.Verdict != verify.Unknown {
			t.Errorf("%s: %v, %s; want which could not be run", test.names, err, report.Verdict)
		}
		if got := strings.Join(runs, " "); got != test.runs {
			t.Errorf("%s: tried %q, want %q", test.names, got, test.runs)
		}
		for _, row := range report.Rows {
			if want, known := test.wanted[row.Name]; known && row.Verdict != want {
				t.Errorf("%s: %s is %s, want %s", test.names, row.Name, row.Verdict, want)
			}
		}
	}
}
