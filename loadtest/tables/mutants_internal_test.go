package tables

import (
	"slices"
	"strings"
	"testing"

	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/stock-service/deduct"
)

// Every row can be run, and names one possible outcome.
func TestTable(t *testing.T) {
	known := append(verify.Invariants(), trial.FreshOrder.Name, trial.NotGivenUp.Name, trial.Locked.Name)
	names := map[string]bool{}
	all := Mutants()
	for _, e := range all {
		if names[e.Name] {
			t.Errorf("%s: twice", e.Name)
		}
		names[e.Name] = true
		if e.Load.Orders == 0 {
			t.Errorf("%s: no load", e.Name)
		}
		if _, err := deduct.Find(e.Services.Strategy); e.Services.Strategy != "" && err != nil {
			t.Error(err)
		}
		for _, a := range e.Acts {
			if err := a.Known(); err != nil {
				t.Errorf("%s: %v", e.Name, err)
			}
		}
	}
	for _, e := range all {
		if (e.Expect.Broken == "") == (e.Expect.Absorbed == "") {
			t.Errorf("%s: want either what catches it or what absorbs it", e.Name)
		}
		if by := e.Expect.Broken; by != "" && !slices.Contains(known, by) {
			t.Errorf("%s: no invariant is called %s", e.Name, by)
		}
		checked := func(name string) bool {
			return slices.ContainsFunc(e.Checks, func(c trial.Check) bool { return c.Name == name })
		}
		for _, by := range []string{trial.NotGivenUp.Name, trial.Locked.Name, trial.FreshOrder.Name} {
			if e.Expect.Broken == by && !checked(by) {
				t.Errorf("%s: nobody looks for %s", e.Name, by)
			}
		}
		if len(e.Acts) > 0 != checked(trial.FreshOrder.Name) {
			t.Errorf("%s: want a cell, or calm", e.Name)
		}
	}
	for _, cell := range []string{quiet, duplicated, redisDown, paused, flagInHand, redisFlushed, createLost} {
		if _, ok := FindCell(cell); !ok {
			t.Errorf("there is no cell %s", cell)
		}
	}
	patches, err := system.Patches()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, m := range all {
		for name := range strings.SplitSeq(m.Services.Mutants, ",") {
			used[name] = true
			if name != "" && !slices.ContainsFunc(patches, func(p system.Patch) bool { return p.Name == name }) {
				t.Errorf("%s: there is no patch %s", m.Name, name)
			}
		}
	}
	probed := []string{"no-tombstone", "changed-body"} // TestProbes in verifytest runs these
	for _, p := range patches {
		if slices.Contains(probed, p.Name) {
			continue
		}
		if strings.HasPrefix(p.CaughtBy, "the rate of ") {
			continue // it costs time, which no invariant judges: the console compares the rates
		}
		if !used[p.Name] {
			t.Errorf("no row runs the patch %s", p.Name)
		}
		if by, _, _ := strings.Cut(p.CaughtBy, ","); !slices.Contains(known, by) {
			t.Errorf("patch %s: no invariant is called %s", p.Name, by)
		}
	}
}
