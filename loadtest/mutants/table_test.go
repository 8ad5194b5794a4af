package mutants

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"orderstock/loadtest/faults"
	"orderstock/loadtest/history"
	"orderstock/loadtest/mutants/patch"
	"orderstock/loadtest/verify"
	"orderstock/stock-service/deduct/strategy"
)

// Every row can be run, and names one possible outcome.
func TestTable(t *testing.T) {
	known := append(verify.Invariants(), faults.Settled, faults.FreshOrder, faults.NotGivenUp,
		flagConflict, unlockedDeductions)
	names := map[string]bool{}
	all := slices.Concat(mutants, fronts, layers, inputs)
	for _, m := range all {
		if names[m.Name] {
			t.Errorf("%s: twice", m.Name)
		}
		names[m.Name] = true
		if (m.Expected == "") == (m.AbsorbedBy == "") {
			t.Errorf("%s: want either what catches it or what absorbs it", m.Name)
		}
		if m.Expected != "" && !slices.Contains(known, m.Expected) {
			t.Errorf("%s: no invariant is called %s", m.Name, m.Expected)
		}
		if m.Expected == faults.NotGivenUp && !m.Strict {
			t.Errorf("%s: nobody looks for %s", m.Name, m.Expected)
		}
		if m.Cell == "" && m.Probe == nil && m.Change == nil && m.Load.Orders == 0 ||
			m.Cell != "" && (m.Probe != nil || m.Change != nil) {
			t.Errorf("%s: want either a cell, or a probe, a change or a load", m.Name)
		}
		if c := m.Change; c != nil && c.order == "" && c.stock == "" && c.flip == nil {
			t.Errorf("%s: changes nothing", m.Name)
		}
		if cell, ok := faults.Find(m.Cell); m.Cell != "" && (!ok || cell.NA != "") {
			t.Errorf("%s: cell %s cannot be run", m.Name, m.Cell)
		}
	}
	for _, s := range honest {
		if names[s.name()] {
			t.Errorf("%s: twice", s.name())
		}
		names[s.name()] = true
		if _, err := strategy.Find(s.strategy); err != nil {
			t.Error(err)
		}
	}
	if len(honest) < 40 {
		t.Errorf("%d honest shapes, want 40", len(honest))
	}
	patches, err := patch.All()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, m := range all {
		for name := range strings.SplitSeq(m.Switches, ",") {
			used[name] = true
			if name != "" && !slices.ContainsFunc(patches, func(p patch.Patch) bool { return p.Name == name }) {
				t.Errorf("%s: there is no patch %s", m.Name, name)
			}
		}
	}
	for _, p := range patches {
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

func TestReport(t *testing.T) {
	good := Row{Kind: "mutant", Mutant: "a", Expected: verify.DeductedOnce, CaughtBy: verify.DeductedOnce, OK: true}
	report := &Report{Rows: []Row{good}}
	if !report.OK() {
		t.Error("a report as expected fails")
	}
	path := filepath.Join(t.TempDir(), "mutants.json")
	if err := history.SaveJSON(path, report); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Rows []map[string]any `json:"rows"`
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	row := got.Rows[0]
	if row["mutant"] != "a" || row["expected"] != verify.DeductedOnce || row["caught_by"] != verify.DeductedOnce ||
		row["ok"] != true {
		t.Errorf("row is written as %v", row)
	}
	if (&Report{}).OK() {
		t.Error("a report without a row passes")
	}
	bad := good
	bad.OK = false
	if (&Report{Rows: []Row{good, bad}}).OK() {
		t.Error("a report with a mutant that was missed passes")
	}
}

// A flip changes every answer that confirmed the order.
func TestFlip(t *testing.T) {
	h := &history.History{Calls: []history.Call{
		{Op: 1, Status: history.Confirmed},
		{Op: 2, Status: history.Confirmed},
		{Op: 1, Kind: history.Again, Status: history.Confirmed},
	}}
	rejected(h, 1)
	if h.Calls[0].Status != history.Rejected || h.Calls[1].Status != history.Confirmed ||
		h.Calls[2].Status != history.Rejected {
		t.Errorf("flipped to %v", h.Calls)
	}
}
