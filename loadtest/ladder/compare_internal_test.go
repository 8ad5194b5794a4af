package ladder

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"orderstock/loadtest/verify"
)

func TestRatioIsOverAllLegs(t *testing.T) {
	t.Parallel()
	r := overLegs([]float64{100, 300, 200}, []float64{110, 290, 194})
	// The ratio is 594/600 = 0.99, and the legs are 11, -7 and -4 off: a deviation of 9.64 each.
	if want := math.Sqrt((121+49+16)/2.0/3) / 200; math.Abs(r.Value-0.99) > 1e-9 || math.Abs(r.Error-want) > 1e-9 {
		t.Errorf("%s, want 0.99 ± %.4f", r, want)
	}
}

func TestRowsOfLegs(t *testing.T) {
	t.Parallel()
	leg := func(perS float64) Row {
		return Row{DonePerS: perS, P99MS: 1, Handovers: perS / 10, Legs: []float64{perS, perS}, Verdict: verify.Pass}
	}
	rows := make([]Row, 2)
	for _, perS := range []float64{100, 300} {
		rows[0].addLeg(leg(perS))
		rows[1].addLeg(leg(perS / 2))
	}
	if err := relate(rows); err != nil || rows[1].Ratio.Value != 0.5 || rows[1].P99.Value != 1 ||
		rows[0].DonePerS != 200 || rows[0].Handovers != 20 || len(rows[0].Legs) != 2 || rows[1].Verdict != verify.Pass {
		t.Errorf("%v, %+v; want half the sales, and a pass", err, rows)
	}
	if err := relate([]Row{leg(0), leg(50)}); err == nil {
		t.Error("nothing was sold, and there is a ratio")
	}
}

func TestParseSide(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, program := range []string{"order-service", "stock-service", "migrate"} {
		if err := os.WriteFile(filepath.Join(dir, program), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		values []string
		want   string // the side's name; "" for an error
	}{
		{nil, "this build"},
		{[]string{dir}, dir},
		{[]string{"STOCK_GROUP=8", dir, "A=b=c"}, dir + " A=b=c STOCK_GROUP=8"},
		{[]string{t.TempDir()}, ""},
		{[]string{"stock=8"}, ""},
		{[]string{"=8"}, ""},
	} {
		if s, err := ParseSide(test.values); (err != nil) != (test.want == "") || err == nil && s.Name != test.want {
			t.Errorf("%q is %q, %v; want %q", test.values, s.Name, err, test.want)
		}
	}
}
