package console_test

import (
	"bytes"
	"strings"
	"testing"

	"orderstock/loadtest/console"
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
		p := console.Pair{
			Kind: "time", Broken: console.Played{OrdersPerS: test.broken}, Fixed: console.Played{OrdersPerS: test.fixed},
		}
		if got := p.Shown(); got != test.want {
			t.Errorf("%g broken and %g fixed: shown %t, want %t", test.broken, test.fixed, got, test.want)
		}
	}
}

func TestATourIsJudgedByItsWorstFault(t *testing.T) {
	pass, violation := console.Played{Outcome: verify.Pass}, console.Played{Outcome: verify.Violation}
	slow, fast := pass, pass
	slow.OrdersPerS, fast.OrdersPerS = 10, 20
	caught := console.Pair{Kind: "books", Broken: violation, Fixed: pass}
	missed := console.Pair{Kind: "books", Broken: pass, Fixed: pass}
	failed := console.Pair{Kind: "books", Broken: violation, Fixed: violation}
	slower := console.Pair{Kind: "time", Broken: slow, Fixed: fast}
	faster := console.Pair{Kind: "time", Broken: fast, Fixed: slow}
	for _, test := range []struct {
		pairs []console.Pair
		want  verify.Outcome
	}{
		{[]console.Pair{caught, slower}, verify.Pass},
		{[]console.Pair{caught, missed}, verify.Unknown},
		{[]console.Pair{slower, faster}, verify.Unknown},
		{[]console.Pair{missed, failed, caught}, verify.Violation},
	} {
		if got := console.Judge(test.pairs); got != test.want {
			t.Errorf("%+v: %s, want %s", test.pairs, got, test.want)
		}
	}
	var table bytes.Buffer
	if err := (console.Tour{missed}).Sheet().Text(&table); err != nil ||
		!strings.Contains(table.String(), "not caught this time") {
		t.Errorf("%q, %v", &table, err)
	}
}
