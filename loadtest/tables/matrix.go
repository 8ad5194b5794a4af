package tables

import (
	"slices"
	"strings"
	"sync"
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/trial"
)

// Strikes lists the faults that strike at a step: trial.Kinds describes their actions.
var Strikes = []string{"kill", "pause", "reply-lost", "connection-reset", "error", "delay"}

// holds is how long they last.
var holds = map[string]time.Duration{
	"kill": brief, "connection-reset": brief, "error": brief,
	"pause":      sessionTimeout + 1200*time.Millisecond,
	"reply-lost": stockTimeout + 200*time.Millisecond,
	"delay":      2*stockTimeout + 100*time.Millisecond,
}

const brief = 300 * time.Millisecond

// fewPass lists the steps that only a part of the orders pass, and that strike at the first arrival.
var fewPass = []faultpoint.Step{
	faultpoint.CancelFlag, faultpoint.CancelOrder, faultpoint.LookupFlow, faultpoint.Reconcile,
}

// reach makes orders pass the steps that they would seldom pass otherwise.
var reach = map[faultpoint.Step][]faultpoint.Rule{
	// It keeps orders' flags out of Redis, so that the stock service has to look in the ledger.
	faultpoint.LookupFlow: {
		{Step: faultpoint.SetFlag, When: faultpoint.Before, Action: faultpoint.Error, Times: 1000},
	},
	// It leaves orders PENDING, so that the reconciler finds some.
	faultpoint.Reconcile: {
		{Step: faultpoint.SetStatus, When: faultpoint.Before, Action: faultpoint.Error, Times: 10},
	},
}

// basketPoints are where the holder of several locks is struck: between the first and the last, with all of them, in
// the transaction, around its commit, and while the locks are released. It waits for other holders all the while, as
// two replicas take overlapping sets.
var basketPoints = []struct {
	step faultpoint.Step
	when faultpoint.When
}{
	{faultpoint.NextLock, faultpoint.Before},
	{faultpoint.AcquireLock, faultpoint.After},
	{faultpoint.UpdateStock, faultpoint.Before},
	{faultpoint.Commit, faultpoint.Before},
	{faultpoint.Commit, faultpoint.After},
	{faultpoint.ReleaseLock, faultpoint.After},
}

// atStep returns the cell of a fault that strikes at a step.
func atStep(step faultpoint.Step, when faultpoint.When, fault string) trial.Experiment {
	p := trial.Points[step]
	a := trial.Action{
		Action: "arm-" + fault, Target: string(p.By) + "-" + trial.Any, Step: string(step), When: string(when),
		For: holds[fault], Outage: brief, Skip: !slices.Contains(fewPass, step), Reach: reach[step],
	}
	if step == faultpoint.Reconcile { // only one replica passes it, and nobody knows which
		a.Target = string(p.By) + "-" + trial.Every
	}
	return Cell(trial.Experiment{
		Name: strings.Join([]string{string(step), string(when), fault}, "/"), Group: fault,
		Services: trial.Services{Env: Env}, Load: usual, Several: several,
		Acts: []trial.Action{a.At(strikeAt)},
	})
}

// strikesAt lists the faults that strike on that side of a step: one that has not begun has no reply to lose.
func strikesAt(when faultpoint.When) []string {
	return slices.DeleteFunc(slices.Clone(Strikes), func(fault string) bool {
		return fault == "reply-lost" && when == faultpoint.Before
	})
}

// inBaskets are the cells whose orders are all of several products, whose locks one group holds together.
func inBaskets() (cells []trial.Experiment) {
	for _, at := range basketPoints {
		for _, fault := range strikesAt(at.when) {
			c := atStep(at.step, at.when, fault)
			c.Name, c.Group, c.Several = c.Name+"/baskets", c.Group+", baskets", []float64{1}
			cells = append(cells, c)
		}
	}
	return cells
}

// Cells returns the whole matrix.
func Cells() []trial.Experiment {
	var all []trial.Experiment
	for _, step := range faultpoint.Steps {
		for _, when := range trial.Whens {
			for _, fault := range strikesAt(when) {
				all = append(all, atStep(step, when, fault))
			}
		}
	}
	all = append(all, inBaskets()...)
	for i, a := range Surroundings {
		all = append(all, around(a))
		for _, b := range Surroundings[i+1:] {
			if a != "redis-flushed" || b != "redis-down" { // a Redis that is down holds nothing to flush
				all = append(all, around(a, b))
			}
		}
	}
	return append(all, Lasting()...)
}

// Reduced returns a part of the matrix that covers each step and each fault at least once.
func Reduced() []trial.Experiment {
	var some []trial.Experiment
	for i, step := range faultpoint.Steps {
		// The faults alternate over the steps, and so do the two sides.
		when, fault := trial.Whens[i/2%2], Strikes[i%len(Strikes)]
		if !slices.Contains(strikesAt(when), fault) {
			fault = Strikes[(i+1)%len(Strikes)]
		}
		some = append(some, atStep(step, when, fault))
	}
	for i, c := range inBaskets() {
		if i%7 == 0 { // each point once, or nearly
			some = append(some, c)
		}
	}
	for i, fault := range Surroundings {
		some = append(some, around(fault))
		if i%3 == 0 {
			some = append(some, around(fault, Surroundings[i+2]))
		}
	}
	return append(some, Lasting()...)
}

// everyCell is made once, since mutants and published faults look for a cell each while a program starts.
var everyCell = sync.OnceValue(func() []trial.Experiment { return append(Cells(), OfCluster()...) })

// FindCell returns the cell of that name. What its slices and maps hold must not be changed.
func FindCell(name string) (trial.Experiment, bool) { return trial.Find(everyCell(), name) }
