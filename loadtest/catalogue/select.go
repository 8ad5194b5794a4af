package catalogue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/changes"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
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

// Select returns the experiments whose name, with their group before as in "front: ", holds only, among them runs
// with n random changes. If only is "", it returns all but the honest shapes, which take minutes.
func Select(only string, n int) []trial.Experiment {
	if only == "" {
		return append(Mutants(), RandomChanges(n)...)
	}
	var some []trial.Experiment
	for _, e := range slices.Concat(Mutants(), honest, RandomChanges(n)) {
		if strings.Contains(e.Group+": "+e.Name, only) {
			some = append(some, e)
		}
	}
	return some
}

// RandomChanges returns three runs, each with its share of n random changes to its books and its answers, which must be
// found: a calm one with repeats and cancellations, one under faults that leave results unknown, and one of deductions
// alone.
func RandomChanges(n int) []trial.Experiment {
	mix := fire.Mix{Goods: 3, Stock: 60, Repeat: 0.3, Cancel: 0.3, Seed: 1}
	var kills []trial.Action
	for _, target := range []string{"stock-2", "order-2"} {
		kills = append(kills, trial.Action{Action: "kill", Target: target, AfterMS: 1000})
	}
	all := []trial.Experiment{
		{Name: "calm", Load: fire.Config{Orders: 100, Concurrency: 16, Mix: mix}},
		{
			Name: "under faults", Acts: kills,
			Load: fire.Config{Orders: 120, Concurrency: 16, Rate: 60, Timeout: time.Second, Insist: time.Second, Mix: mix},
		},
		{Name: "deduct", Load: fire.Config{Path: history.PathDeduct, Orders: 100, Concurrency: 16, Mix: mix}},
	}
	for i := range all {
		e := &all[i]
		e.Name, e.Group = "random changes to a run "+e.Name, "changes"
		e.Services = trial.Services{Env: Env, Fresh: true}
		e.Checks = []trial.Check{changesFound(n / len(all))}
	}
	return all
}

// changesFound checks that n random changes to the run are found.
func changesFound(n int) trial.Check {
	return trial.When(trial.Judged, "changes-found", func(ctx context.Context, r *trial.Run) error {
		books, err := verify.Read(ctx, r.System.Databases())
		if err != nil {
			return fmt.Errorf("read the books to change: %w", err)
		}
		base := &changes.Base{Name: r.Experiment.Name, Books: books, History: r.History}
		counts, err := base.Run(r.Seed, n)
		r.Says = append(r.Says, counts.String())
		for _, missed := range counts.Missed {
			r.Violate("changes-found", 1, "missed: %s", missed)
		}
		if err == nil && counts.Found < counts.Tried*3/4 {
			err = errors.New("so few are found that the exemptions say nothing: " + counts.String())
		}
		return err
	})
}
