package ladder

import (
	"math"
	"testing"

	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

func compared(t *testing.T, want float64, legs ...[2]float64) Comparison {
	t.Helper()
	c := Comparison{Ratio: Ratio{Want: want}, Verdict: verify.Pass}
	for _, leg := range legs {
		if err := c.add(leg[0], leg[1]); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestComparisonIsOverAllLegs(t *testing.T) {
	t.Parallel()
	c := compared(t, 1, [2]float64{100, 110}, [2]float64{300, 290}, [2]float64{200, 194})
	// The ratio is 594/600 = 0.99, and the legs are 11, -7 and -4 off: a deviation of 9.64 each.
	if want := math.Sqrt((121+49+16)/2.0/3) / 200; math.Abs(c.Ratio.Value-0.99) > 1e-9 ||
		math.Abs(c.Ratio.Error-want) > 1e-9 || !c.Ratio.OK {
		t.Errorf("%+v, want 0.99 ± %.4f, within its error", c.Ratio, want)
	}
	if err := c.add(600, 500); err != nil || c.Ratio.OK {
		t.Errorf("%v, %+v; want it missed", err, c.Ratio)
	}
	if err := c.add(0, 500); err == nil || len(c.A) != 4 {
		t.Errorf("%v, %d legs: want an error, and the leg left out: nothing was sold", err, len(c.A))
	}
}

func TestWatchedMayLoseTwoInAHundred(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		alone, watched [2]float64
		ok             bool
	}{
		{[2]float64{1000, 1000}, [2]float64{990, 990}, true},
		{[2]float64{1000, 1000}, [2]float64{970, 970}, false},
		{[2]float64{1000, 1100}, [2]float64{1000, 1040}, true}, // within the spread of the legs
	} {
		w := compared(t, 1-mostLost, [2]float64{test.alone[0], test.watched[0]}, [2]float64{test.alone[1], test.watched[1]})
		if w.Ratio.OK != test.ok {
			t.Errorf("%v alone, %v watched: %+v", test.alone, test.watched, w.Ratio)
		}
	}
}

// Each leg begins with the other variant.
func TestLegsTakeTurns(t *testing.T) {
	t.Parallel()
	order := ""
	both := contestants([]shape{{"a", 1}, {"b", 1}})
	for c := range legs(3, t.Logf)(both) {
		order += c.strategy
		c.reports = append(c.reports, &history.Report{})
	}
	if order != "abbaab" {
		t.Errorf("order %s, want abbaab", order)
	}
}

func TestWorse(t *testing.T) {
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
