package console

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"orderstock/loadtest/act"
	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

func testConsole(t *testing.T) *Console {
	t.Helper()
	c, err := newConsole(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.traces.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// shows fails the test unless the state holds each of the texts.
func (c *Console) shows(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if state := string(c.hub.snapshot()); !strings.Contains(state, text) {
			t.Errorf("the state does not hold %s: %s", text, state)
		}
	}
}

// TestVerdictOutlivesAReadInFlight: books read before the verdict do not change the headline back, and books of a run
// are not shown in the next.
func TestVerdictOutlivesAReadInFlight(t *testing.T) {
	c := testConsole(t)
	c.sale = &sale{live: true, meter: newMeter(c.hub)}
	books := Books{Rows: []BookRow{{Name: "product 1"}}, Sold: 3, Stock: 5}
	c.showBooks(c.sale, books)
	c.shows(t, `"word":"RUNNING"`, `"sentence":"sold 3 of 5"`)
	before := c.sale
	c.endSale()
	c.hub.set(secHero, Hero{Word: "PASS", Sentence: "sold 5 of 5"})
	c.showBooks(before, books)
	c.shows(t, `"word":"PASS"`, `"sentence":"sold 5 of 5"`)
	books.Sold = 5
	c.showBooks(c.sale, books) // read after the verdict
	c.shows(t, `"word":"PASS"`, `"products":0,"sold":5`)
	before = c.sale
	c.sale = &sale{live: true} // the next run begins
	c.showBooks(before, Books{Rows: books.Rows, Sold: 7})
	c.shows(t, `"word":"PASS"`, `"products":0,"sold":5`)
}

// TestVerdictComesWithItsOrders: it comes with the orders' final states, not with an earlier read's.
func TestVerdictComesWithItsOrders(t *testing.T) {
	c, s := testConsole(t), &view{orders: ordersDB(t)}
	insertOrders(t, s.orders, "PENDING", orderID(0, 1))
	if _, err := c.showStatuses(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	c.shows(t, `"PENDING":1`)
	execOn(t, s.orders, "UPDATE orders SET status = 'CONFIRMED'")
	insertOrders(t, s.orders, "CONFIRMED", orderID(time.Minute, 1)) // written long after its id was made
	c.sale = &sale{meter: newMeter(c.hub)}
	_, err := c.keep(t.Context(), s, &plan{}, Run{ID: "1"}, &history.History{}, &Verdict{Outcome: verify.Pass})
	if err != nil {
		t.Fatal(err)
	}
	c.shows(t, `"PENDING":0`, `"CONFIRMED":2`, `"word":"PASS"`)
}

// TestFixedPlaysTheSeedThatCaughtTheBrokenOne also if that was not the first, or another run came between.
func TestFixedPlaysTheSeedThatCaughtTheBrokenOne(t *testing.T) {
	c, s := testConsole(t), &view{orders: ordersDB(t)}
	c.sale = &sale{meter: newMeter(c.hub)}
	f, err := catalogue.Find("K")
	if err != nil {
		t.Fatal(err)
	}
	p := &plan{fault: &f, variant: catalogue.Broken}
	for _, test := range []struct {
		seed    string
		outcome verify.Outcome
		fixed   string
	}{{"42", verify.Pass, "42"}, {"43", verify.Violation, "43"}, {"44", verify.Pass, "43"}} {
		run := Run{ID: "seed-" + test.seed, Seed: test.seed}
		if _, err := c.keep(t.Context(), s, p, run, &history.History{}, &Verdict{Outcome: test.outcome}); err != nil {
			t.Fatal(err)
		}
		if got := c.runs.firstSeed("K", catalogue.Fixed); got != test.fixed {
			t.Errorf("after %+v, fixed plays seed %s", test, got)
		}
	}
	b, other := c.runs.firstSeed("K", catalogue.Broken), c.runs.firstSeed("A", catalogue.Fixed)
	if b != "42" || other != "42" {
		t.Errorf("the broken one plays seed %s and another fault %s, want 42", b, other)
	}
}

// TestVariantsDescribeTheirDifference: a fixed variant that is not the product says so.
func TestVariantsDescribeTheirDifference(t *testing.T) {
	for _, f := range catalogue.Published {
		if f.Fixed.Mutants != "" && f.Fixed.Says == "" {
			t.Errorf("fault %s does not describe its fixed variant", f.Letter)
		}
	}
	f, err := catalogue.Find("O")
	if err != nil {
		t.Fatal(err)
	}
	p := &plan{fault: &f, variant: catalogue.Fixed, services: f.Fixed}
	if got := p.newRun(1).Says; !strings.Contains(got, "not the plain product") {
		t.Errorf("the run says %q", got)
	}
}

// TestBooksOfAnotherRunNameTheirScope: the newest products alone are read, and the page says so.
func TestBooksOfAnotherRunNameTheirScope(t *testing.T) {
	c, s := testConsole(t), &view{stock: database(t, "stock")}
	c.sale = &sale{live: true}
	add := func(from, to int) {
		t.Helper()
		for id := from; id <= to; id++ {
			execOn(t, s.stock, "INSERT INTO stock (goods_id, updated_at) VALUES (?, NOW(6))", id)
		}
	}
	add(1, newest)
	if err := c.readBooks(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	c.shows(t, `"scope":""`, `"sentence":"sold 0 of 0"`)
	add(newest+1, newest+3)
	if err := c.readBooks(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	c.shows(t, `"scope":"the newest 10 of 13 products"`, `"sentence":"sold 0 of 0 of the newest 10 of 13 products"`)
}

// TestOrderByHandIsNobodyElses: it does not count as another process's run, which would erase the verdict.
func TestOrderByHandIsNobodyElses(t *testing.T) {
	c, s := testConsole(t), &view{orders: ordersDB(t)}
	look := c.bystander()
	read := func(other bool) {
		t.Helper()
		s.tally.at, s.tally.all = time.Time{}, time.Time{} // count again
		if err := look(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if c.sale.live != other {
			t.Errorf("another process's run is seen: %t, want %t", c.sale.live, other)
		}
	}
	insertOrders(t, s.orders, "CONFIRMED", orderID(time.Hour, 1))
	read(false)
	placed := &Placed{}
	done := c.byHand.place(placed, "")
	insertOrders(t, s.orders, "CONFIRMED", orderID(0, 1))
	read(false) // it is not answered yet
	placed.OrderID = "1"
	done()
	read(false)
	done = c.byHand.place(&Placed{OrderID: "2"}, "")
	done()
	read(false) // it is answered, and the counts are older
	insertOrders(t, s.orders, "CONFIRMED", orderID(0, 2))
	read(false)
	insertOrders(t, s.orders, "CONFIRMED", orderID(0, 3))
	read(true)
}

func TestWhereTheLockIs(t *testing.T) {
	for _, test := range []struct {
		view  *view
		goods string
		want  string
	}{
		{&view{}, "700", "/r/stock/partition-"},
		{&view{Target: Target{Partitions: 1}}, "700", "/r/stock/partition-00"},
		{&view{Target: Target{Strategy: "sequential"}}, "700", "/r/stock/700"},
		{&view{Target: Target{Strategy: "sequential"}}, "", ""},
		{&view{Target: Target{Strategy: "sequential"}, oneLock: true}, "700", "/r/stock/0"},
		{&view{Target: Target{Strategy: "single-node"}}, "700", ""},
		{&view{Target: Target{Strategy: "optimistic"}}, "700", ""},
	} {
		test.view.ZooKeeperRoot = "/r"
		path, says := test.view.lockPath(test.goods)
		if !strings.HasPrefix(path, test.want) || (path == "") != (test.want == "") || (says == "") != (path != "") {
			t.Errorf("%+v: %q, %q; want %q", test.view.Target, path, says, test.want)
		}
	}
}

// TestCommandRepeatsTheRun: the command line has what differs from its own defaults, and the seed of the attempt.
func TestCommandRepeatsTheRun(t *testing.T) {
	f, err := catalogue.Find("A")
	if err != nil {
		t.Fatal(err)
	}
	p := &plan{fault: &f, variant: catalogue.Broken, seed: 42}
	for attempt, want := range map[int]string{1: "make play FAULT=A SEED=42", 3: "make play FAULT=A SEED=44"} {
		if got := p.newRun(attempt).Command; got != want {
			t.Errorf("attempt %d: %q, want %q", attempt, got, want)
		}
	}
	for want, of := range map[string]string{
		" --orders 7 --repeat 0 --trace-sample 0.5":         `{"orders": 7, "trace_sample": 0.5}`,
		" --repeat 0.5 --timeout 3s --seed 18 --settle 40s": `{"repeat": 0.5, "timeout_s": 3, "settle_s": 40, "seed": "18"}`,
	} {
		var s Scenario
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

func TestNotCaughtIsNoPass(t *testing.T) {
	for _, test := range []struct {
		letter  string
		variant catalogue.Side
		outcome verify.Outcome
		want    bool
	}{
		{"A", catalogue.Broken, verify.Pass, true},
		{"A", catalogue.Broken, verify.Violation, false},
		{"A", catalogue.Broken, verify.Unknown, false},
		{"A", catalogue.Fixed, verify.Pass, false},
		{"G", catalogue.Broken, verify.Pass, false}, // it costs time alone
	} {
		f, err := catalogue.Find(test.letter)
		if err != nil {
			t.Fatal(err)
		}
		p := &plan{fault: &f, variant: test.variant}
		if got := p.notCaught(&Verdict{Outcome: test.outcome}); got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
}

// TestReport has the compared rates, the events, and the faults that struck within the charts.
func TestReport(t *testing.T) {
	record := &Record{
		Compare: &Compare{What: "orders per second", Broken: 12.5, BrokenSays: "a session for each lock"},
		Log:     []Entry{{TMS: 1500, At: time.Unix(0, 0).UTC(), Text: "paused stock-1"}},
		Samples: []Sample{{TMS: 250, OrdersPerS: 8, Failed: 3}, {TMS: 2000, OrdersPerS: 9}},
		Faults: []act.Strike{
			{What: "kill", Where: "stock-1", Fired: 1, FiredMS: 600}, {What: "kill", Where: "too-late", Fired: 1, FiredMS: 9000},
		},
	}
	var report strings.Builder
	if err := record.Sheet().Write(&report); err != nil {
		t.Fatal(err)
	}
	for text, n := range map[string]int{
		"a session for each lock": 1, "12.5": 1, "not run yet": 1, "1.50 s": 1, "00:00:00.000": 1, "paused stock-1": 1,
		">kill stock-1</text>": 1, ">failed</text>": 1, ">too-late<": 1, "kill too-late</text>": 0,
	} {
		if strings.Count(report.String(), text) != n {
			t.Errorf("%d times %q, want %d, in %s", strings.Count(report.String(), text), text, n, &report)
		}
	}
}

// TestRecordsAreBounded: a console may watch for days, and each page gets all that is kept.
func TestRecordsAreBounded(t *testing.T) {
	h := newHub()
	for i := range mostSamples + 5 {
		h.sample(Sample{TMS: int64(i)})
		h.entry(Entry{TMS: int64(i)})
	}
	samples, log := h.recorded()
	if len(samples) != mostSamples || samples[0].TMS != 5 {
		t.Errorf("%d samples, the first of %d ms", len(samples), samples[0].TMS)
	}
	if len(log) != mostLines || log[mostLines-1].TMS != int64(mostSamples+4) {
		t.Errorf("%d lines, the last of %d ms", len(log), log[len(log)-1].TMS)
	}
}
