package trial

import (
	"strings"
	"testing"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/verify"
)

// TestAnExperimentThatCannotRunDropsNoOther. Its row is unknown, and so is the report. If none can be run, the suite
// gives up.
func TestAnExperimentThatCannotRunDropsNoOther(t *testing.T) {
	up := systemtest.Up(t, systemtest.Build(t), func(c *system.Config) { c.OrderServices, c.StockServices = 1, 1 })
	st := system.Attach(up.Target(), up.Databases())
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
			e := Experiment{Name: name, Load: fire.Config{Orders: 1, Concurrency: 1, Mix: fire.Mix{Goods: 1, Stock: 9}}}
			if name[0] == 'x' {
				e.Load.Mix.Stock = -1
			}
			experiments = append(experiments, e)
		}
		var runs []string
		watch := func(section string, value any) {
			if try, is := value.(Try); is {
				runs = append(runs, try.Experiment.Name)
			}
		}
		board := &Board{System: st, Declared: func() []string { return nil }, Watch: watch}
		report, err := Suite{Experiments: experiments, Board: board, Watch: watch}.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "run x") || report.Verdict != verify.Unknown {
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
