package faults

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"orderstock/loadtest"
)

var (
	commitKill = Cell{Step: "commit", When: "before", Fault: Kill}
	replyLost  = Cell{Step: "commit", When: "before", Fault: ReplyLost, NA: noReplyYet}
)

func TestReportSumsUp(t *testing.T) {
	report := newReport(2, []Cell{commitKill, replyLost}, []*Run{
		{Cell: commitKill, Seed: 1, Outcome: loadtest.Pass, Fired: 1, Orders: 300, OK: 200, Rejected: 90, UnknownToClient: 2, SettleMS: []float64{5, 400}, Linear: "pass"},
		{Cell: commitKill, Seed: 2, Outcome: loadtest.Pass, Fired: 1, Orders: 300, OK: 210, Rejected: 80, SettleMS: []float64{7}, Linear: "unknown"},
	})
	path := filepath.Join(t.TempDir(), "sub", "faults.json")
	if err := report.Save(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Seeds int              `json:"seeds"`
		Cells []map[string]any `json:"cells"`
		Total map[string]any   `json:"total"`
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got.Seeds != 2 || len(got.Cells) != 1 {
		t.Fatalf("%d seeds, %d cells", got.Seeds, len(got.Cells))
	}
	for field, want := range map[string]any{
		"step": "commit", "when": "before", "fault": "kill", "runs": 2., "fired": 2., "orders": 600., "ok": 410., "rejected": 170.,
		"unknown_to_client": 2., "violations": 0., "unsettled": 0., "settle_p99_ms": 400., "linearizable": 1., "verdict": "pass",
	} {
		if got.Cells[0][field] != want {
			t.Errorf("%s is %v, want %v", field, got.Cells[0][field], want)
		}
	}
	for field, want := range map[string]any{"runs": 2., "orders": 600., "fired": 2., "violations": 0.} {
		if got.Total[field] != want {
			t.Errorf("total %s is %v, want %v", field, got.Total[field], want)
		}
	}
}

// One bad run spoils a cell, a cell that was not run is unknown, and the worst
// cell is the verdict.
func TestReportVerdict(t *testing.T) {
	other := Cell{Step: "commit", When: "after", Fault: Kill}
	pass := &Run{Cell: commitKill, Outcome: loadtest.Pass}
	for name, c := range map[string]struct {
		runs []*Run
		want loadtest.Outcome
	}{
		"all pass":           {[]*Run{pass, {Cell: other, Outcome: loadtest.Pass}}, loadtest.Pass},
		"a cell not run":     {[]*Run{pass}, loadtest.Unknown},
		"a fault that slept": {[]*Run{pass, {Cell: other, Outcome: loadtest.Unknown}}, loadtest.Unknown},
		"a violation":        {[]*Run{pass, {Cell: other, Outcome: loadtest.Violation, Violations: 1}}, loadtest.Violation},
		"the worst stands":   {[]*Run{{Cell: other, Outcome: loadtest.Violation}, {Cell: other, Outcome: loadtest.Pass}, {Cell: commitKill, Outcome: loadtest.Unknown}}, loadtest.Violation},
	} {
		if got := newReport(1, []Cell{commitKill, other}, c.runs).Verdict; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestRunRemembersTheWorst(t *testing.T) {
	r := &Run{Outcome: loadtest.Pass}
	r.fail(loadtest.Violation, "one")
	r.fail(loadtest.Unknown, "two")
	if r.Outcome != loadtest.Violation || len(r.Why) != 2 {
		t.Errorf("%s %v", r.Outcome, r.Why)
	}
}
