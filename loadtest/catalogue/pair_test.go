package catalogue_test

import (
	"bytes"
	"strings"
	"testing"

	"orderstock/loadtest/catalogue"
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
		p := catalogue.Pair{
			Kind: "time", Broken: catalogue.Run{OrdersPerS: test.broken}, Fixed: catalogue.Run{OrdersPerS: test.fixed},
		}
		if got := p.Shown(); got != test.want {
			t.Errorf("%g broken and %g fixed: shown %t, want %t", test.broken, test.fixed, got, test.want)
		}
	}
}

func TestATourIsJudgedByItsWorstFault(t *testing.T) {
	pass, violation := catalogue.Run{Verdict: verify.Pass}, catalogue.Run{Verdict: verify.Violation}
	slow, fast := pass, pass
	slow.OrdersPerS, fast.OrdersPerS = 10, 20
	caught := catalogue.Pair{Kind: "books", Broken: violation, Fixed: pass}
	missed := catalogue.Pair{Kind: "books", Broken: pass, Fixed: pass}
	failed := catalogue.Pair{Kind: "books", Broken: violation, Fixed: violation}
	slower := catalogue.Pair{Kind: "time", Broken: slow, Fixed: fast}
	faster := catalogue.Pair{Kind: "time", Broken: fast, Fixed: slow}
	for _, test := range []struct {
		pairs []catalogue.Pair
		want  verify.Outcome
	}{
		{[]catalogue.Pair{caught, slower}, verify.Pass},
		{[]catalogue.Pair{caught, missed}, verify.Unknown},
		{[]catalogue.Pair{slower, faster}, verify.Unknown},
		{[]catalogue.Pair{missed, failed, caught}, verify.Violation},
	} {
		if got := catalogue.Pairs(test.pairs).Outcome(); got != test.want {
			t.Errorf("%+v: %s, want %s", test.pairs, got, test.want)
		}
	}
	var table bytes.Buffer
	if err := (catalogue.Pairs{missed}).Sheet().Text(&table); err != nil ||
		!strings.Contains(table.String(), "not caught this time") {
		t.Errorf("%q, %v", &table, err)
	}
}
