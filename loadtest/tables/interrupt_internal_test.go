package tables

import (
	"context"
	"strings"
	"testing"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// writer calls itself at each write.
type writer func()

func (w writer) Write(text []byte) (int, error) {
	w()
	return len(text), nil
}

// TestAnInterruptedPlayIsNoPass, neither in the middle of a try nor between two, and does not count as not caught. One
// that is stopped on purpose is judged as it is.
func TestAnInterruptedPlayIsNoPass(t *testing.T) {
	st := systemtest.Up(t, systemtest.Build(t), func(c *system.Config) { c.OrderServices, c.StockServices = 1, 1 })
	for _, test := range []struct {
		name, at string // what is shown when it ends
		cause    error
		outcome  verify.Outcome
		word     verify.Outcome
		says     string
	}{
		{"during the load", "", nil, verify.Unknown, verify.Unknown, "the run was interrupted"},
		{"during the judgement", "judging", nil, verify.Unknown, verify.Unknown, "interrupted while the run was judged"},
		{"after the first try", "record", nil, verify.Unknown, verify.Unknown, "2 more seeds were to be tried"},
		{"stopped", "", fire.ErrStopped, verify.Pass, trial.NotCaught, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, end := context.WithCancelCause(t.Context())
			defer end(nil)
			p, err := NewPlayer(system.Attach(st.Target(), st.Databases()), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			p.Show = func(section string, value any) {
				if section == "phase" {
					section = string(value.(trial.Phase))
				}
				if section == test.at {
					end(test.cause)
				}
			}
			e := trial.Experiment{
				Name: "broken", Load: fire.Config{Orders: 50, Concurrency: 4}, Tries: 3,
				Expect: trial.Expect{Broken: trial.Anything},
			}
			if test.at == "" { // at the first line of progress
				e.Load.Orders, e.Load.Rate = 100_000, 100
				p.Progress = writer(func() { end(test.cause) })
			}
			r, err := p.Play(ctx, e, Run{}.of(e, 1, 42))
			if err != nil {
				t.Fatal(err)
			}
			reasons := strings.Join(r.Verdict.Reasons, "; ")
			if r.Verdict.Outcome != test.outcome || r.Run.Verdict != test.word || !strings.Contains(reasons, test.says) {
				t.Errorf("%s, in words %q, for %q; want %s, %q and %q", r.Verdict, r.Run.Verdict, reasons, test.outcome,
					test.word, test.says)
			}
			if says := r.Run.Sentence; strings.Contains(says, "stopped by hand after") != (test.at == "") {
				t.Errorf("the run says %q", says)
			}
			kept, err := p.Runs.Load(r.Run.ID)
			if err != nil {
				t.Fatal(err)
			}
			if all := p.Runs.List(); kept.Run.Verdict != test.word || len(all) != 1 || all[0].Verdict != test.word {
				t.Errorf("kept: %+v; in the list: %+v", kept.Run, all)
			}
		})
	}
}
