package tables

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/stock-service/deduct"
)

// find returns the fault of a letter.
func find(t *testing.T, letter string) Fault {
	t.Helper()
	f, err := Find(letter)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestVariantsDescribeTheirDifference: a fixed variant that is not the product says so.
func TestVariantsDescribeTheirDifference(t *testing.T) {
	for _, f := range Published {
		if f.Fixed.Mutants != "" && f.Fixed.Says == "" {
			t.Errorf("fault %s does not describe its fixed variant", f.Letter)
		}
	}
	if _, run := find(t, "O").Play(Fixed, 1); !strings.Contains(run.Says, "the fencing token is compared") {
		t.Errorf("the run says %q", run.Says)
	}
}

// TestSidesDifferInOneThing: the fixed variant lacks one change of the broken one, or has another in its place. Here is
// the product, under the same environment.
func TestSidesDifferInOneThing(t *testing.T) {
	for _, f := range Published {
		broken, both := f.Difference()
		if n := len(f.Changes(Fixed)) - len(both); len(broken) != 1 || n > 1 {
			t.Errorf("fault %s: %+v makes it, and the fixed variant has %d others; want one difference", f.Letter, broken, n)
		} else if source := f.Source.Name; broken[0].Name != source && !strings.HasPrefix(source, "published.") {
			t.Errorf("fault %s: %s makes it, and its source is %s", f.Letter, broken[0].Name, source)
		}
		if changes := f.Changes(Here); len(changes) > 0 {
			t.Errorf("fault %s: here are the changes %+v", f.Letter, changes)
		}
		here, run := f.Play(Here, 1)
		if s := here.Services; s.Mutants != "" || s.Strategy != deduct.Default || run.Says == "" ||
			here.Expect != (trial.Expect{}) || strings.Contains(s.Env[faultpoint.AlwaysEnv], string(faultpoint.Meet)) {
			t.Errorf("fault %s: here %+v runs, %q, and %+v is expected", f.Letter, s, run.Says, here.Expect)
		}
	}
}

// TestLessonNamesTheLayersThatAreOff on both sides.
func TestLessonNamesTheLayersThatAreOff(t *testing.T) {
	for letter, want := range map[string]string{
		"A": "Two more layers are off on both sides, as the fault alone does no harm: the update's condition and the " +
			"fencing token. Either would have caught it.",
		"B": "",
		"I": "",
		"O": "One more layer is off on both sides, as the fault alone does no harm: the update's condition. It would have " +
			"caught it.",
	} {
		if got := find(t, letter).Lesson(); got != want {
			t.Errorf("fault %s: %q, want %q", letter, got, want)
		}
	}
}

// TestServicesOfAVariant have the environment of its fault, and its own.
func TestServicesOfAVariant(t *testing.T) {
	for _, f := range Published {
		for side, v := range map[Side]Variant{Broken: f.Broken, Fixed: f.Fixed, Here: {}} {
			e, _ := f.Play(side, 1)
			got := e.Services
			if got.Env[faultpoint.AlwaysEnv] != "" && side == Here { // it holds nobody until others come
				got.Env[faultpoint.AlwaysEnv] = f.Env[faultpoint.AlwaysEnv]
			}
			for name, value := range f.Env {
				if got.Env[name] != value {
					t.Errorf("%s, %s: %s is %q, want %q", f.Letter, side, name, got.Env[name], value)
				}
			}
			if got.Mutants != v.Mutants {
				t.Errorf("%s, %s: it runs with %q, want %q", f.Letter, side, got.Mutants, v.Mutants)
			}
		}
	}
}

// TestLateDeductionIsNotFound: in fault E, a commit comes after its caller, who has one try, has given up. A second try
// would find the deduction.
func TestLateDeductionIsNotFound(t *testing.T) {
	e := find(t, "E")
	for _, a := range e.Acts() {
		if a.Step != "commit" || a.When != "before" || !a.Outlast {
			t.Errorf("%+v strikes, want a commit that outlasts its caller", a)
		}
	}
	played, _ := e.Play(Broken, 1)
	env := played.Services.Env
	limit := map[string]time.Duration{}
	for _, name := range []string{"STOCK_TIMEOUT", "CONFIRM_BUDGET", "LOCK_TIMEOUT"} {
		d, err := time.ParseDuration(env[name])
		if err != nil {
			t.Fatal(err)
		}
		limit[name] = d
	}
	if call := limit["CONFIRM_BUDGET"] * 2 / 3; limit["STOCK_TIMEOUT"] < call || limit["LOCK_TIMEOUT"] < call {
		t.Errorf("%v: want a try, and a wait for the lock, for as long as a call may last, %s", limit, call)
	}
}

// TestSleeperMeetsAnotherHolder: a holder that sleeps does not wake up before another stock service is at a point.
func TestSleeperMeetsAnotherHolder(t *testing.T) {
	for letter, want := range map[string]string{"M": "update-stock before hold", "O": "commit after delay"} {
		for _, a := range find(t, letter).Acts() {
			if len(a.OtherStocks) != 1 || a.Action != "arm-pause" {
				t.Fatalf("%s: %+v strikes, want a pause until another one has come to a point", letter, a)
			}
			if r := a.OtherStocks[0]; fmt.Sprint(r.Step, " ", r.When, " ", r.Action) != want {
				t.Errorf("%s: a sleeper wakes up after %+v, want %s", letter, r, want)
			}
		}
	}
}

// TestHangingOrdersAreNotGivenUp: an order of fault L that hangs would be right if it expired before the run is judged.
// That is after an answer and the time to settle.
func TestHangingOrdersAreNotGivenUp(t *testing.T) {
	e, _ := find(t, "L").Play(Broken, 1)
	env := e.Services.Env
	expires, err := time.ParseDuration(env["CANCEL_AFTER"])
	answer, err2 := time.ParseDuration(env["CONFIRM_BUDGET"])
	if err != nil || err2 != nil || expires < 3*(answer+e.Settle) {
		t.Errorf("%v, %v: an order expires after %s, and the last one is %s old at the verdict, or older on a slow machine",
			err, err2, expires, answer+e.Settle)
	}
}

// TestCommandRepeatsTheRun: the command line has what differs from its own defaults, and the seed of the attempt.
func TestCommandRepeatsTheRun(t *testing.T) {
	for seed, want := range map[uint64]string{42: "make play FAULT=A SEED=42", 44: "make play FAULT=A SEED=44"} {
		for side, more := range map[Side]string{Broken: "", Fixed: " FIXED=1", Here: " HERE=1"} {
			if _, run := find(t, "A").Play(side, seed); run.Command != want+more {
				t.Errorf("seed %d: %q, want %q", seed, run.Command, want+more)
			}
		}
	}
	for want, of := range map[string]string{
		" --orders 7 --repeat 0 --trace-sample 0.5":         `{"orders": 7, "trace_sample": 0.5}`,
		" --timeout 3s --repeat 0.5 --seed 18 --settle 40s": `{"repeat": 0.5, "timeout_s": 3, "settle_s": 40, "seed": "18"}`,
	} {
		var s Custom
		if err := json.Unmarshal([]byte(of), &s, json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(err)
		}
		if got := s.flags(false); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := s.flags(true); strings.Contains(got, "trace") {
			t.Errorf("nobody would receive the spans of %q", got)
		}
	}
}

// TestReportNamesWhatIsBroken: in a broken variant that is the code, also if nothing breaks during its run.
func TestReportNamesWhatIsBroken(t *testing.T) {
	played := func(f Fault, s Side) Run {
		_, run := f.Play(s, 1)
		return run
	}
	broke := func(run Run, acts ...trial.Shown) string {
		for _, fact := range (&Record{Run: run, Faults: acts}).Sheet().Facts {
			if fact.Name == "What broke" {
				return fact.Value
			}
		}
		return "not said"
	}
	for _, f := range Published {
		if got := broke(played(f, Broken)); got == "nothing" || got == "not said" {
			t.Errorf("fault %s, broken: what broke is %q", f.Letter, got)
		}
	}
	for side, want := range map[Side]string{
		Broken: "release-early, read-modify-write, no-fencing", Fixed: "read-modify-write, no-fencing", Here: "nothing",
	} {
		if got := broke(played(find(t, "A"), side)); got != want {
			t.Errorf("fault A, %s: what broke is %q, want %q", side, got, want)
		}
	}
	byHand := &Record{Run: played(find(t, "A"), Broken), Faults: []trial.Shown{{What: "kill", ByHand: true}}}
	if got := byHand.command(); !strings.Contains(got, "without what was broken by hand") {
		t.Errorf("the command is %q, and leaves out a kill", got)
	}
}

func TestNotCaughtIsNoPass(t *testing.T) {
	for _, test := range []struct {
		letter  string
		side    Side
		outcome verify.Outcome
		want    bool
	}{
		{"A", Broken, verify.Pass, true},
		{"A", Broken, verify.Violation, false},
		{"A", Broken, verify.Unknown, false},
		{"A", Fixed, verify.Pass, false},
		{"A", Here, verify.Pass, false},
		{"G", Broken, verify.Pass, false}, // it costs time alone
	} {
		e, _ := find(t, test.letter).Play(test.side, 1)
		if got := e.Expect.Word(test.outcome) == trial.NotCaught; got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
}

// An order that a fault consists of is placed, though no stock service answers at first.
func TestOrderIsPlacedOnceItIsServed(t *testing.T) {
	st := systemtest.Up(t, systemtest.Build(t), func(c *system.Config) { c.OrderServices, c.StockServices = 1, 1 })
	if _, err := st.StockDB.ExecContext(t.Context(),
		"INSERT INTO stock (goods_id, name, price, num, updated_at) VALUES (1, 'ticket', 100, 9, NOW(6))"); err != nil {
		t.Fatal(err)
	}
	stock, placed := st.Stocks[0], make(chan error, 1)
	if err := stock.Kill(); err != nil {
		t.Fatal(err)
	}
	if code, err := st.Orders[0].PostOrder(t.Context(), "down", `{"items":[{"goods_id":"1","num":1}]}`); err != nil ||
		code != http.StatusServiceUnavailable {
		t.Fatalf("%d, %v; want 503 without a stock service", code, err)
	}
	go func() {
		_, err := placeServed(t.Context(), st.Orders[0], "once", `{"items":[{"goods_id":"1","num":1}]}`)
		placed <- err
	}()
	if err := stock.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-placed; err != nil {
		t.Fatal(err)
	}
	var orders int
	if err := st.OrderDB.QueryRowContext(t.Context(),
		"SELECT COUNT(*) FROM orders WHERE idempotency_key = 'once'").Scan(&orders); err != nil || orders != 1 {
		t.Errorf("%d orders, %v; want one", orders, err)
	}
}

// TestUnknownActionIsRefusedAtOnce, and not when its time has come.
func TestUnknownActionIsRefusedAtOnce(t *testing.T) {
	s := Custom{Faults: []trial.Action{{Action: "melt", Target: "stock-1"}}}
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "melt") {
		t.Errorf("a load with an unknown action: %v", err)
	}
}

// TestReport has the compared rates, the events, and the faults that struck within the charts.
func TestReport(t *testing.T) {
	record := &Record{
		Compare: &Compare{What: "orders per second", Broken: 12.5, BrokenSays: "a session for each lock"},
		Books:   Books{Rows: []BookRow{{Name: "pen"}, {Name: "cup", Disagreement: "two are lost"}}},
		Log:     []Entry{{TMS: 1500, At: time.Unix(0, 0).UTC(), Text: "paused stock-1"}},
		Samples: []Sample{{TMS: 250, OrdersPerS: 8, Failed: 3}, {TMS: 2000, OrdersPerS: 9}},
		Faults: []trial.Shown{
			{What: "kill", Where: "stock-1", Fired: 1, FiredMS: 600}, {What: "kill", Where: "too-late", Fired: 1, FiredMS: 9000},
		},
	}
	var report strings.Builder
	if err := record.Sheet().Write(&report); err != nil {
		t.Fatal(err)
	}
	english, _, _ := strings.Cut(report.String(), `<article class="report" lang="zh-CN">`)
	for text, n := range map[string]int{
		"a session for each lock": 1, "12.5": 1, "not run yet": 1, "1.50 s": 1, "00:00:00.000": 1, "paused stock-1": 1,
		">kill stock-1</text>": 1, ">failed</text>": 1, ">too-late<": 1, "kill too-late</text>": 0,
		`<tr class="bad"><th scope="row" class="words">cup</th>`: 1, `class="bad"`: 1,
	} {
		if strings.Count(english, text) != n {
			t.Errorf("%d times %q, want %d, in %s", strings.Count(english, text), text, n, english)
		}
	}
}

// TestRatesOutliveTheConsole: the rates of kept runs are shown with the next.
func TestRatesOutliveTheConsole(t *testing.T) {
	dir := t.TempDir()
	r, err := OpenRuns(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []Run{
		{ID: "20260101-000000.000-1", Fault: "G", Variant: "broken", OrdersPerS: 10},
		{ID: "20260101-000001.000-1", Fault: "G", Variant: "broken", OrdersPerS: 11},
		{ID: "20260101-000002.000-1", Fault: "A", Variant: "broken", OrdersPerS: 12},
	} {
		if err := r.save(&Record{Run: run}); err != nil {
			t.Fatal(err)
		}
	}
	if r, err = OpenRuns(dir); err != nil {
		t.Fatal(err)
	}
	got := r.compare(Run{Fault: "G", Variant: Fixed, OrdersPerS: 30})
	if got.Broken != 11 || got.Fixed != 30 {
		t.Errorf("the rates are %+v, want 11 and 30", got)
	}
}

// TestLog is bounded. Its times begin with the first order.
func TestLog(t *testing.T) {
	p, err := NewPlayer(systemtest.Idle(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for n := range MostLines {
		p.Say("run", "line %d", n)
	}
	const want = "never struck: kill at stock-1"
	p.watch("log", want)
	if n := len(p.log); n != MostLines || p.log[0].Text != "line 1" || p.log[0].TMS != 0 || p.log[n-1].Text != want {
		t.Errorf("%d lines, %+v to %q", n, p.log[0], p.log[n-1].Text)
	}
}
