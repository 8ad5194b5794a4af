package faults

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

var (
	commitKill = Cell{Step: "commit", When: "before", Fault: Kill}
	replyLost  = Cell{Step: "commit", When: "before", Fault: ReplyLost, NA: noReplyYet}
)

func TestReportSumsUp(t *testing.T) {
	report := newReport(2, []Cell{commitKill, replyLost}, []*Run{
		{
			Cell: commitKill, Seed: 1, Outcome: verify.Pass, SettleMS: []float64{5, 400},
			Counts: Counts{Fired: 1, Orders: 300, OK: 200, Rejected: 90, UnknownToClient: 2},
		},
		{
			Cell: commitKill, Seed: 2, Outcome: verify.Pass, SettleMS: []float64{7},
			Counts: Counts{Fired: 1, Orders: 300, OK: 210, Rejected: 80},
		},
	})
	path := filepath.Join(t.TempDir(), "sub", "faults.json")
	if err := history.SaveJSON(path, report); err != nil {
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
		"step": "commit", "when": "before", "fault": "kill", "runs": 2., "fired": 2., "orders": 600., "ok": 410.,
		"rejected": 170., "unknown_to_client": 2., "violations": 0., "unsettled": 0., "settle_p99_ms": 400.,
		"verdict": "pass",
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
	pass := &Run{Cell: commitKill, Outcome: verify.Pass}
	for name, c := range map[string]struct {
		runs []*Run
		want verify.Outcome
	}{
		"all pass":           {[]*Run{pass, {Cell: other, Outcome: verify.Pass}}, verify.Pass},
		"a cell not run":     {[]*Run{pass}, verify.Unknown},
		"a fault that slept": {[]*Run{pass, {Cell: other, Outcome: verify.Unknown}}, verify.Unknown},
		"a violation":        {[]*Run{pass, {Cell: other, Outcome: verify.Violation}}, verify.Violation},
		"the worst stands": {[]*Run{
			{Cell: other, Outcome: verify.Violation},
			{Cell: other, Outcome: verify.Pass},
			{Cell: commitKill, Outcome: verify.Unknown},
		}, verify.Violation},
	} {
		if got := newReport(1, []Cell{commitKill, other}, c.runs).Verdict; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestRunRemembersTheWorst(t *testing.T) {
	r := &Run{Outcome: verify.Pass}
	r.fail(verify.Violation, "one")
	r.fail(verify.Unknown, "two")
	if r.Outcome != verify.Violation || len(r.Why) != 2 {
		t.Errorf("%s %v", r.Outcome, r.Why)
	}
}
