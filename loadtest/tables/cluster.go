package tables

import (
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/trial"
)

// OfCluster returns the cells of a cluster. Once it can heal by itself, it must take writes again within 15 s. A load
// lasts until then.
func OfCluster() []trial.Experiment {
	all := []trial.Experiment{
		struck("primary-killed", time.Second, true, false),
		struck("primary-frozen", 6*time.Second, true, false),
		struck("primary-switched", time.Second, true, false),
		struck("primary-cut-off", 5*time.Second, true, false),
		struck("secondary-killed", 8*time.Second, false, false),
		struck("two-secondaries-killed", 3*time.Second, false, true),
		struck("zookeeper-leader-killed", time.Second, false, false),
		struck("zookeeper-without-quorum", 15*time.Second, false, true),
		struck("redis-failed-over", 5*time.Second, false, false),
		struck("primary+zookeeper-leader-killed", time.Second, true, false),
		struck("rolling-restart", time.Second, false, false),
	}
	for i, e := range all {
		switch e.Acts[0].Action {
		case "two-secondaries-killed", "zookeeper-without-quorum": // an operator mends it, which may take minutes
			untilOver(&e)
			e.After = trial.WritesAgainWithin + 5*time.Second // so that the limit can be exceeded
		case "rolling-restart":
			untilOver(&e)
			e.Load.Insist = trial.WritesAgainWithin
			e.Checks = append(e.Checks, trial.Served)
		}
		all[i] = Cell(e)
	}
	return all
}

// untilOver lets orders come until the cell's fault is over.
func untilOver(e *trial.Experiment) {
	e.Load.Orders, e.Load.Mix.Stock, e.Acts[0].EndsLoad = 12_000, 1700, true
}

// struck returns a cell of a cluster. moves says that another member is the primary afterwards, and operator that the
// cluster does not heal by itself.
func struck(fault string, lasts time.Duration, moves, operator bool) trial.Experiment {
	a := trial.Action{Action: fault, For: lasts}
	return trial.Experiment{
		Name: "around/during/" + fault, Group: trial.OnCluster,
		Services: trial.Services{Env: with(Env, preferring, ofCluster), Cluster: true},
		Load:     fire.Config{Orders: 600, Rate: 20, Concurrency: 128, Mix: fire.Mix{Cancel: 0.1}},
		Several:  several, Acts: []trial.Action{a.At(strikeAt)},
		Checks: []trial.Check{trial.WritesAgain(operator), trial.ReadFrom(moves)},
	}
}
