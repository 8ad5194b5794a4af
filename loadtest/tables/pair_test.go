package tables_test

import (
	"bytes"
	"strings"
	"testing"

	"orderstock/loadtest/tables"
	"orderstock/loadtest/verify"
)

func TestAFaultOfTimeShowsByItsRate(t *testing.T) {
	for _, test := range []struct {
		broken, fixed float64
		want          bool
	}{
		{10, 20, true},
		{100, 120, true},
		{0, 10, true},
		{100, 119, false},
		{99, 100, false},
		{20, 10, false},
		{0, 0, false},
	} {
		p := tables.Pair{
			Kind: "time", Broken: tables.Run{OrdersPerS: test.broken}, Fixed: tables.Run{OrdersPerS: test.fixed},
		}
		if got := p.Shown(); got != test.want {
			t.Errorf("%g broken and %g fixed: shown %t, want %t", test.broken, test.fixed, got, test.want)
		}
	}
}

func TestATourIsJudgedByItsWorstFault(t *testing.T) {
	pass, violation := tables.Run{Verdict: verify.Pass}, tables.Run{Verdict: verify.Violation}
	slow, fast := pass, pass
	slow.OrdersPerS, fast.OrdersPerS = 10, 20
	caught := tables.Pair{Kind: "books", Broken: violation, Fixed: pass, Here: pass}
	missed := tables.Pair{Kind: "books", Broken: pass, Fixed: pass, Here: pass}
	failed := tables.Pair{Kind: "books", Broken: violation, Fixed: violation, Here: pass}
	wrongHere := tables.Pair{Kind: "books", Broken: violation, Fixed: pass, Here: violation}
	slower := tables.Pair{Kind: "time", Broken: slow, Fixed: fast, Here: fast}
	faster := tables.Pair{Kind: "time", Broken: fast, Fixed: slow, Here: fast}
	for _, test := range []struct {
		pairs []tables.Pair
		want  verify.Outcome
	}{
		{[]tables.Pair{caught, slower}, verify.Pass},
		{[]tables.Pair{caught, missed}, verify.Unknown},
		{[]tables.Pair{slower, faster}, verify.Unknown},
		{[]tables.Pair{missed, failed, caught}, verify.Violation},
		{[]tables.Pair{caught, wrongHere}, verify.Violation},
	} {
		if got := tables.Pairs(test.pairs).Outcome(); got != test.want {
			t.Errorf("%+v: %s, want %s", test.pairs, got, test.want)
		}
	}
	var table bytes.Buffer
	if err := (tables.Pairs{missed}).Sheet().Text(&table); err != nil ||
		!strings.Contains(table.String(), "not caught this time") {
		t.Errorf("%q, %v", &table, err)
	}
}

// TestPageComparesTheFixedRun, and not the product, with the broken one.
func TestPageComparesTheFixedRun(t *testing.T) {
	p := tables.Pair{
		Kind:   "time",
		Broken: tables.Run{Variant: tables.Broken, Sentence: "2.6 orders a second", OrdersPerS: 2.6},
		Fixed:  tables.Run{Variant: tables.Fixed, Sentence: "26.0 orders a second", OrdersPerS: 26},
		Here:   tables.Run{Variant: tables.Here, Sentence: "33.0 orders a second", OrdersPerS: 33},
	}
	const want = "**Fixed: 26.0 orders a second.**\n\nThat is 10.0 times as many orders without the fault.\n\n" +
		"**As it runs here: 33.0 orders a second.**"
	if got := p.Played(); !strings.HasSuffix(got, want) {
		t.Errorf("the page says %s", got)
	}
}
