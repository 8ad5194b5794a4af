package tables

import (
	"slices"
	"strings"

	"orderstock/loadtest/trial"
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
