// Package act has the names that moved to package trial.
package act

import "orderstock/loadtest/trial"

type (
	Action = trial.Action
	Set    = trial.Set
	Strike = trial.Shown
	Armed  = trial.Armed
	Kind   = trial.Kind
)

var (
	New   = trial.New
	Parse = trial.Parse
	Kinds = trial.Kinds
	Whens = trial.Whens
)
