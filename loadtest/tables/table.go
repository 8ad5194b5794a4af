package tables

import (
	"slices"
	"strings"
	"sync"

	"orderstock/loadtest/trial"
)

// Table is a table of experiments that is run as a whole, or a part of one.
type Table struct {
	// Name is the name of its results' file, too.
	Name string
	Says string
	Rows []trial.Experiment
	// Part, if not "", names a single row of it, or several, whose results are not mistaken for the whole's.
	Part string
	// Lanes is the number of systems that run it in parallel, unless somebody says otherwise.
	Lanes int
}

// The tables whose rows are not run as they are: the faults of the tour are played, a side of a fault alone as well,
// and a storm's acts depend on its system.
const (
	TheTour       = "tour"
	OneSide       = "side"
	TheStorm      = "storm"
	TheLocalStorm = "storm-local"
)

// All returns all tables. Their slices must not be changed.
var All = sync.OnceValue(func() []Table {
	cluster, storm := OfCluster(), []trial.Experiment{Storm(nil, nil, 0, 0)}
	return []Table{
		{"faults", "each step of an order, and all around it, under every fault", Cells(), "faults-cell", 2},
		{"faults-reduced", "a part of faults: each step and each fault at least once", Reduced(), "", 2},
		{"faults-cluster", "the faults of a cluster, as root, with MySQL itself", cluster, "faults-cluster-cell", 1},
		{"faults-cluster-reduced", "the first of them", cluster[:1], "", 1},
		{"mutants", "broken variants of the services, each of which must be caught", Mutants(), "mutants-only", 1},
		{TheTour, "the published faults, each broken, fixed and as it runs here", sidesOf(Letters()...), OneSide, 1},
		{TheStorm, "everything in the compose file's stack breaks while orders come", storm, "", 1},
		{TheLocalStorm, "the same with new servers and services, without containers", storm, "", 1},
	}
})

// sidesOf returns rows for all sides of published faults.
func sidesOf(letters ...string) (all []trial.Experiment) {
	for _, letter := range letters {
		for _, side := range Sides {
			all = append(all, trial.Experiment{Name: letter + "/" + string(side)})
		}
	}
	return all
}

// Lookup returns the table of that name, or the part with the row of that name or, of a letter, with all sides of a
// published fault.
func Lookup(name string) (Table, bool) {
	if len(name) == 1 || strings.Index(name, "/") == 1 {
		name = strings.ToUpper(name[:1]) + name[1:]
	}
	if slices.Contains(Letters(), name) {
		return Table{Name: TheTour, Rows: sidesOf(name)}, true
	}
	for _, t := range All() {
		if t.Name == name {
			return t, true
		}
		if row, found := trial.Find(t.Rows, name); found && t.Part != "" {
			t.Name, t.Rows = t.Part, []trial.Experiment{row}
			return t, true
		}
	}
	return Table{}, false
}
