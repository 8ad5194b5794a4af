package trial

import (
	"context"
	"errors"
	"fmt"
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

// TestARunThatProvesNothingIsReplaced by one with the next seed, twice at most. One that breaks something stands.
func TestARunThatProvesNothingIsReplaced(t *testing.T) {
	up := systemtest.Up(t, systemtest.Build(t), func(c *system.Config) { c.OrderServices, c.StockServices = 1, 1 })
	st := system.Attach(up.Target(), up.Databases())
	for ends, want := range map[string]struct {
		seeds   int
		runs    string // the seeds
		verdict verify.Outcome
	}{
		"pass":                         {1, "1", verify.Pass},
		"unknown pass":                 {1, "1 2", verify.Pass},
		"unknown unknown pass":         {1, "1 2 3", verify.Pass},
		"unknown unknown unknown":      {1, "1 2 3", verify.Unknown},
		"unknown violation":            {1, "1 2", verify.Violation},
		"violation":                    {1, "1", verify.Violation},
		"pass unknown pass":            {2, "1 2 3", verify.Pass},
		"unknown violation pass":       {2, "1 2 2", verify.Violation},
		"pass unknown unknown unknown": {2, "1 2 3 4", verify.Unknown},
	} {
		var runs []string
		left := strings.Fields(ends)
		end := When(Judged, "end", func(_ context.Context, r *Run) error {
			runs = append(runs, fmt.Sprint(r.Seed))
			next := verify.Outcome(left[0])
			left = left[1:]
			switch next {
			case verify.Violation:
				r.Violate("end", 1, "it is broken")
			case verify.Unknown:
				return errors.New("the machine stood still")
			}
			return nil
		})
		report, err := Suite{
			On: st, Seeds: want.seeds, Out: t.TempDir(), Experiments: []Experiment{{
				Name: "one", Checks: []Check{end}, Load: fire.Config{Orders: 1, Mix: fire.Mix{Goods: 1, Stock: 9}, Plain: true},
			}},
		}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(runs, " "); report.Verdict != want.verdict || got != want.runs {
			t.Errorf("%s: %s, with the seeds %s; want %s and %s", ends, report.Verdict, got, want.verdict, want.runs)
		}
	}
}
