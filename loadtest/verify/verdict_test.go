package verify_test

import (
	"bytes"
	"strings"
	"testing"

	"orderstock/loadtest/verify"
)

func TestTheVerdictIsPrintedShort(t *testing.T) {
	t.Parallel()
	v := &verify.Verdict{Outcome: verify.Violation, Orders: 3, Oversold: 2, Invariants: []verify.Invariant{
		{Name: verify.StockBalances, Says: "no stock level is below zero"},
		{
			Name: verify.NotOversold, Says: "no more than there is", Violations: 2,
			Sample: []string{"product 7: 2 too many", "more"},
		},
	}}
	const last = "VERDICT: VIOLATION orders=3 confirmed=0 rejected=0 cancelled=0 pending=0 oversold=2 " +
		"double_deducted=0 served=0 repeated=0 calm=0%\n"
	const head = "INVARIANT VIOLATIONS WHAT HOLDS, OR THE FIRST VIOLATION\n"
	const broken = "not-oversold 2 VIOLATED: product 7: 2 too many\n"
	printed := func(all bool) string {
		var text bytes.Buffer
		if err := v.Write(&text, all); err != nil {
			t.Fatal(err)
		}
		var lines strings.Builder
		for line := range strings.Lines(text.String()) {
			lines.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
		}
		return lines.String()
	}
	if got, want := printed(false), head+broken+"1 of 2 invariants hold\n"+last; got != want {
		t.Errorf("printed\n%swant\n%s", got, want)
	}
	if got, want := printed(true), head+"stock-balances 0 no stock level is below zero\n"+broken+
		"1 of 2 invariants hold\n"+last; got != want {
		t.Errorf("printed all\n%swant\n%s", got, want)
	}
	// What could not be read does not hold.
	v.Reasons = []string{"no history"}
	if got, want := printed(false), head+broken+"unknown: no history\n"+last; got != want {
		t.Errorf("printed\n%swant\n%s", got, want)
	}
}

func TestOrIsTheWorseOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]verify.Outcome{
		{"pass", "pass", "pass"},
		{"pass", "unknown", "unknown"},
		{"unknown", "pass", "unknown"},
		{"violation", "unknown", "violation"},
		{"unknown", "violation", "violation"},
	} {
		if got := c[0].Or(c[1]); got != c[2] {
			t.Errorf("the worse of %s and %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}
