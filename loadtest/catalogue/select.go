package catalogue

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"orderstock/loadtest/changes"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// Mutants returns the mutants, in the order of their runs.
func Mutants() (all []trial.Experiment) {
	for _, part := range []struct {
		group string
		of    []trial.Experiment
	}{{"mutant", mutants}, {"front", fronts}, {"layer", layers}, {"input", inputs}} {
		for _, e := range part.of {
			e.Group = part.group
			all = append(all, e)
		}
	}
	return all
}

// Honest returns the shapes of load at right services, none of which may be accused.
func Honest() []trial.Experiment {
	all := make([]trial.Experiment, len(honest))
	for i, s := range honest {
		all[i] = s.experiment()
	}
	return all
}

// Select returns the experiments whose name, with their group before as in "front: ", holds only, among them runs
// with n random changes. If only is "", it returns all but the honest shapes, which take minutes.
func Select(only string, n int) []trial.Experiment {
	if only == "" {
		return append(Mutants(), randomChanges(n)...)
	}
	var some []trial.Experiment
	for _, e := range slices.Concat(Mutants(), Honest(), randomChanges(n)) {
		if strings.Contains(e.Group+": "+e.Name, only) {
			some = append(some, e)
		}
	}
	return some
}

// randomChanges returns a run of each kind, with its share of n random changes to its books and its answers, each of
// which must be found.
func randomChanges(n int) (all []trial.Experiment) {
	kinds := changes.Kinds()
	for _, kind := range kinds {
		e := trial.Experiment{
			Name: "random changes to a run " + kind.Name, Group: "changes", Load: kind.Config,
			Services: trial.Services{Env: Env, Fresh: true},
			Checks: []trial.Check{trial.When(trial.Judged, "changes-found", func(ctx context.Context, r *trial.Run) error {
				books, err := verify.Read(ctx, r.System.Databases())
				if err != nil {
					return fmt.Errorf("read the books to change: %w", err)
				}
				base := &changes.Base{Name: kind.Name, Books: books, History: r.History}
				counts, err := base.Run(r.Seed, n/len(kinds))
				r.Says = append(r.Says, counts.String())
				for _, missed := range counts.Missed {
					r.Violate("changes-found", 1, "missed: %s", missed)
				}
				return err
			})},
		}
		if kind.Faults { // it leaves results unknown
			for _, target := range []string{"stock-2", "order-2"} {
				e.Acts = append(e.Acts, trial.Action{Action: "kill", Target: target, AfterMS: 1000})
			}
		}
		all = append(all, e)
	}
	return all
}
