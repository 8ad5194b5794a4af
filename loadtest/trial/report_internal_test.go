package trial

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

var (
	commitKill = Experiment{Name: "commit/before/kill", Group: "kill"}
	noLock     = Experiment{Name: "no lock", Group: "mutant", Expect: Expect{Broken: verify.DeductedOnce}}
	noRedis    = Experiment{Name: "without Redis", Group: "layer", Expect: Expect{Absorbed: "the ledger"}}
)

// reportOf is the report of runs, with a row for each experiment.
func reportOf(experiments []Experiment, runs ...*Result) *Report {
	return newReport(Suite{Table: "faults", Seeds: 2, Experiments: experiments}, &progress{runs: runs})
}

func TestReportSumsUp(t *testing.T) {
	t.Parallel()
	report := reportOf([]Experiment{commitKill},
		&Result{
			Experiment: commitKill.Name, Seed: 1, Outcome: verify.Pass, SettleMS: []float64{5, 400},
			Counts: Counts{Fired: 1, Orders: 300, OK: 200, Rejected: 90, UnknownToClient: 2},
		},
		&Result{
			Experiment: commitKill.Name, Seed: 2, Outcome: verify.Pass, SettleMS: []float64{7},
			Counts: Counts{Fired: 1, Orders: 300, OK: 210, Rejected: 80},
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
		Rows  []map[string]any `json:"rows"`
		Total map[string]any   `json:"total"`
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got.Seeds != 2 || len(got.Rows) != 1 {
		t.Fatalf("%d seeds, %d rows", got.Seeds, len(got.Rows))
	}
	for field, want := range map[string]any{
		"name": "commit/before/kill", "group": "kill", "runs": 2., "fired": 2., "orders": 600., "ok": 410.,
		"rejected": 170., "unknown_to_client": 2., "violations": 0., "unsettled": 0., "settle_p99_ms": 400.,
		"verdict": "pass",
	} {
		if got.Rows[0][field] != want {
			t.Errorf("%s is %v, want %v", field, got.Rows[0][field], want)
		}
	}
	for field, want := range map[string]any{"runs": 2., "orders": 600., "fired": 2., "violations": 0.} {
		if got.Total[field] != want {
			t.Errorf("total %s is %v, want %v", field, got.Total[field], want)
		}
	}
}

// One bad run spoils a cell, a cell that was not run is unknown, and the worst cell is the verdict. A mutant passes if
// it was caught by the invariant named beforehand, and a layer if nothing was broken in a run that proves something.
func TestReportVerdict(t *testing.T) {
	t.Parallel()
	run := func(e Experiment, o verify.Outcome, broken ...string) *Result {
		return &Result{Experiment: e.Name, Outcome: o, Broken: broken}
	}
	other := Experiment{Name: "commit/after/kill"}
	for name, c := range map[string]struct {
		of   []Experiment
		runs []*Result
		want verify.Outcome
	}{
		"nothing": {nil, nil, verify.Unknown},
		"all pass": {
			[]Experiment{commitKill, other}, []*Result{run(commitKill, "pass"), run(other, "pass")}, verify.Pass,
		},
		"one not run":        {[]Experiment{commitKill, other}, []*Result{run(commitKill, "pass")}, verify.Unknown},
		"a fault that slept": {[]Experiment{commitKill}, []*Result{run(commitKill, "unknown")}, verify.Unknown},
		"the worst stands": {
			[]Experiment{commitKill, other},
			[]*Result{run(other, "violation"), run(other, "pass"), run(commitKill, "unknown")},
			verify.Violation,
		},
		"caught": {
			[]Experiment{noLock}, []*Result{run(noLock, "pass"), run(noLock, "violation", verify.DeductedOnce)}, verify.Pass,
		},
		"caught by another": {
			[]Experiment{noLock}, []*Result{run(noLock, "violation", verify.StockBalances)}, verify.Violation,
		},
		"not caught":     {[]Experiment{noLock}, []*Result{run(noLock, "pass")}, verify.Violation},
		"absorbed":       {[]Experiment{noRedis}, []*Result{run(noRedis, "unknown"), run(noRedis, "pass")}, verify.Pass},
		"not absorbed":   {[]Experiment{noRedis}, []*Result{run(noRedis, "violation", verify.Settled)}, verify.Violation},
		"nothing proved": {[]Experiment{noRedis}, []*Result{run(noRedis, "unknown")}, verify.Violation},
	} {
		if got := reportOf(c.of, c.runs...).Verdict; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestResultRemembersTheWorst(t *testing.T) {
	t.Parallel()
	r := &Result{Outcome: verify.Pass}
	r.fail(verify.Violation, "one")
	r.fail(verify.Unknown, "two")
	if r.Outcome != verify.Violation || len(r.Why) != 2 {
		t.Errorf("%s %v", r.Outcome, r.Why)
	}
}

// Two faults have struck when each has, by any of its acts.
func TestFiredOnceEachFaultHas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		one, other []int
		want       int
	}{
		{[]int{1, 1}, []int{0, 3}, 1},
		{[]int{1, 1}, []int{3, 0}, 1},
		{[]int{1, 1}, []int{0, 0}, 0},
		{[]int{0}, []int{2, 5}, 0},
		{[]int{7}, []int{2, 5}, 5},
	} {
		var acts []*Act
		for fault, counts := range map[string][]int{"one": c.one, "other": c.other} {
			for _, n := range counts {
				acts = append(acts, &Act{Action: Action{Fault: fault}, Fired: n})
			}
		}
		if n := fired(acts); n != c.want {
			t.Errorf("%+v fired %d times", c, n)
		}
	}
}

// The verdict has the checks that describe themselves, held or not, those that failed, and why a run proves nothing.
func TestVerdictHasTheChecks(t *testing.T) {
	t.Parallel()
	held, broken := NotGivenUp, Locked.Saying("a deduction has its locks")
	for name, c := range map[string]struct {
		fail    func(*Result)
		outcome verify.Outcome
		reasons int
		broken  []string
	}{
		"all hold":       {func(*Result) {}, verify.Pass, 0, nil},
		"one is broken":  {func(r *Result) { r.Violate(broken.Name, 2, "two") }, verify.Violation, 0, []string{broken.Name}},
		"one without":    {func(r *Result) { r.Violate(Unmet, 1, "slow") }, verify.Violation, 0, []string{Unmet}},
		"nothing proved": {func(r *Result) { r.fail(verify.Unknown, "never struck") }, verify.Unknown, 1, nil},
	} {
		r := &Run{
			Result:     &Result{Outcome: verify.Pass, Verdict: &verify.Verdict{Outcome: verify.Pass}},
			Experiment: Experiment{Checks: []Check{held, broken}},
		}
		c.fail(r.Result)
		r.addToVerdict()
		v := r.Verdict
		if v.Outcome != c.outcome || len(v.Reasons) != c.reasons || !slices.Equal(v.Violated(), c.broken) {
			t.Errorf("%s: %s, %q, broken %q", name, v.Outcome, v.Reasons, v.Violated())
		}
		says := 0
		for _, i := range v.Invariants {
			if i.Says == held.Says || i.Says == broken.Says {
				says++
			}
		}
		if says != 2 {
			t.Errorf("%s: %d of two checks are described: %+v", name, says, v.Invariants)
		}
	}
}

// TestReportWritesNumbersWithCommas: no number of four digits in its words and tables stands in one piece.
func TestReportWritesNumbersWithCommas(t *testing.T) {
	t.Parallel()
	r := reportOf([]Experiment{commitKill}, &Result{
		Experiment: commitKill.Name, Outcome: verify.Pass,
		Counts: Counts{Fired: 1234, Orders: 246_780, OK: 200_000, Rejected: 46_780},
	}).Sheet()
	var text strings.Builder
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	all := text.String() + r.Markdown("")
	if !strings.Contains(all, "246,780 orders") {
		t.Errorf("no 246,780 orders in\n%s", all)
	}
	if bare := regexp.MustCompile(`.*\d{4}.*`).FindAllString(all, -1); bare != nil {
		t.Errorf("no comma in %q", bare)
	}
}
