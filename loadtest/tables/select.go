package tables

import "orderstock/loadtest/trial"

// Mutants returns the mutants, in the order of their runs.
func Mutants() (all []trial.Experiment) {
	for _, part := range []struct {
		group string
		of    []trial.Experiment
	}{{"mutant", mutants}, {"drawn", drawn}, {"layer", layers}} {
		for _, e := range part.of {
			e.Group = part.group
			all = append(all, e)
		}
	}
	return all
}
