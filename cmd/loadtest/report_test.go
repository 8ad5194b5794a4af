package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"orderstock/loadtest/history"
	"orderstock/loadtest/ladder"
	"orderstock/loadtest/locks"
	"orderstock/loadtest/report"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// outside finds everything that a page loads from elsewhere, except the targets of links.
var outside = regexp.MustCompile(`(?i)<(?:img|script|iframe|link|use|image|object|embed)\b[^>]*\b(?:src|href|data)=` +
	`|@import|url\(\s*["']?(?:https?:|//)`)

// headline finds the sentence and the word at the top of a report.
var headline = regexp.MustCompile(`<h1><span class="sentence">(.*?)</span>(?: ` +
	`<span class="verdict (.*?)"><span class="sign" aria-hidden="true">(.*?)</span> (.*?)</span>)?</h1>`)

func TestSheetsShowTheMeasurements(t *testing.T) {
	t.Parallel()
	onLadder := func(change func(*ladder.Result)) report.Sheet {
		row := func(name string, verdict verify.Outcome, perS float64) ladder.Row {
			return ladder.Row{
				Strategy: name, Path: history.PathDeduct, Goods: 1, Clients: 64, Replicas: 1, DonePerS: perS, Legs: []float64{perS},
				P50MS: 2.25, P99MS: 9.75, Verdict: verdict,
			}
		}
		r := &ladder.Result{
			Bench: ladder.Bench{Server: "MySQL <9.7>", Machine: "2 processors", Date: "2026-01-02"},
			Rows:  []ladder.Row{row(ladder.Unsafe, "violation", 300), row(ladder.Default, "pass", 4321)},
		}
		change(r)
		return r.Sheet()
	}
	onFaults := func(verdict verify.Outcome) report.Sheet {
		r := &trial.Report{Seeds: 3, Verdict: verdict, Rows: []*trial.Row{{
			Experiment: trial.Experiment{Name: "commit/after/kill", Group: "kill"},
			Counts:     trial.Counts{Fired: 7, Orders: 900, OK: 641, Rejected: 259, Violations: 2, Unsettled: 1},
			Runs:       3, SettleP99MS: 1234, Verdict: verdict,
		}}}
		r.Total.Runs, r.Total.Orders, r.Total.Fired, r.Total.Violations, r.Total.Seconds = 3, 900, 7, 2, 61
		return r.Sheet()
	}
	lock := func(name string, perS, p99, wakeups float64) locks.Row {
		return locks.Row{
			Lock: name, Processes: 4, Contenders: 64, Paths: 1, PerSecond: perS, P50: 0.125, P99: p99,
			WakeupsPerRelease: wakeups,
		}
	}
	bad := `<tr class="bad">`
	for name, test := range map[string]struct {
		of                   func() report.Sheet
		sentence, sign, word string
		has                  []string
		bad                  int // rows that are marked as wrong
	}{
		"a ladder": {
			of:       func() report.Sheet { return onLadder(func(*ladder.Result) {}) },
			sentence: ladder.Default + ": up to 4,321 sales a second", sign: "✓", word: "PASS",
			has: []string{
				"MySQL &lt;9.7&gt;", "2 processors", "2026-01-02", "<svg", ">4,321<", ">2.2<", ">9.8<", ">violation<",
				"<code>unsafe</code>", ">14.40<",
			},
			bad: 1, // unsafe oversells, as it has to
		},
		"a ladder with a violation": {
			of: func() report.Sheet {
				return onLadder(func(r *ladder.Result) { r.Rows[1].Verdict = "violation" })
			},
			sentence: ladder.Default + ": up to 4,321 sales a second", sign: "✗", word: "VIOLATION", bad: 3,
		},
		"a ladder that proves nothing": {
			of:       func() report.Sheet { return onLadder(func(r *ladder.Result) { r.Rows[1].Verdict = "unknown" }) },
			sentence: ladder.Default + ": up to 4,321 sales a second", sign: "?", word: "UNKNOWN", bad: 3,
		},
		"a ladder that lost an order when Redis was flushed": {
			of: func() report.Sheet {
				return onLadder(func(r *ladder.Result) {
					r.Survival = []ladder.Row{{
						Strategy: ladder.Default, Fault: ladder.Flushed, Verdict: "violation",
						Broken: []string{"acknowledged-order-kept"},
					}}
				})
			},
			sentence: ladder.Default + ": up to 4,321 sales a second", sign: "✗", word: "VIOLATION", bad: 2,
		},
		"faults": {
			of:       func() report.Sheet { return onFaults(verify.Pass) },
			sentence: "3 runs, 900 orders, 7 faults fired", sign: "✓", word: "PASS",
			has: []string{
				"commit/after/kill", ">641<", ">259<", ">1,234<", "61 s",
			},
			bad: 1, // the sum of the fault
		},
		"faults with a violation": {
			of:       func() report.Sheet { return onFaults(verify.Violation) },
			sentence: "3 runs, 900 orders, 7 faults fired", sign: "✗", word: "VIOLATION", has: []string{">violation<"}, bad: 3,
		},
		"locks": {
			of: func() report.Sheet {
				return (&locks.Result{Rows: []locks.Row{lock("zklock", 5432, 20, 1), lock("zk.Lock", 123, 480, 1.25)}}).Sheet()
			},
			sentence: "zklock: up to 5,432 locks a second",
			has: []string{
				"64 contenders in 4 processes on 1 path", "zk.Lock", ">5,432<", ">123<", ">0.125<", ">20.000<", ">1.25<",
			},
		},
	} {
		sheet := test.of()
		var html bytes.Buffer
		if err := sheet.Write(&html); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text := html.String()
		top := headline.FindStringSubmatch(text)
		if top == nil || top[1] != test.sentence || top[3] != test.sign || top[4] != test.word {
			t.Errorf("%s: the headline is %q, want %q %s %q", name, top, test.sentence, test.sign, test.word)
		}
		for _, want := range test.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the report lacks %q", name, want)
			}
		}
		if n := strings.Count(text, bad); n != test.bad {
			t.Errorf("%s: %d rows are marked as wrong, want %d", name, n, test.bad)
		}
		if found := outside.FindString(text); found != "" {
			t.Errorf("%s: the report loads %q", name, found)
		}
	}
}

// A run that others disturb is not said to be one in which nothing broke.
func TestReportOfADisturbedRun(t *testing.T) {
	t.Parallel()
	for want, h := range map[string]*history.History{
		"nothing":                      {},
		"not known here (--disturbed)": {Disturbed: true},
		"kill at stock-1, flush-redis": {Acts: []history.Act{{Cause: "kill at stock-1"}, {Cause: "flush-redis"}}},
	} {
		facts := (&tables.Record{Run: runOf(h)}).Sheet().Facts
		if !slices.Contains(facts, report.Fact{Name: "What broke", Value: want}) {
			t.Errorf("the report does not say that %s broke: %v", want, facts)
		}
	}
}

// checkReport checks that the report of orders that were fired says the verdict, and loads nothing.
func checkReport(t *testing.T, file string, v *verify.Verdict) {
	t.Helper()
	html, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if top := headline.FindSubmatch(html); top == nil || string(top[4]) != strings.ToUpper(string(v.Outcome)) {
		t.Errorf("the headline is %q, want the one of %s", top, v)
	}
	if !strings.Contains(string(html), v.String()) {
		t.Errorf("the report does not say %q", v)
	}
	if found := outside.Find(html); found != nil {
		t.Errorf("the report loads %q", found)
	}
}
