package tables

import (
	"strings"

	"orderstock/loadtest/trial"
)

// Mutants returns the mutants, in the order of their runs.
func Mutants() (all []trial.Experiment) {
	for _, part := range []struct {
		group string
		of    []trial.Experiment
	}{{"mutant", mutants}, {"layer", layers}} {
		for _, e := range part.of {
			e.Group = part.group
			all = append(all, e)
		}
	}
	return all
}

// Select returns the mutants whose name, with their group before as in "layer: ", holds only.
func Select(only string) (some []trial.Experiment) {
	for _, e := range Mutants() {
		if strings.Contains(e.Group+": "+e.Name, only) {
			some = append(some, e)
		}
	}
	return some
}
