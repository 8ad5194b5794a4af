package ladder

import (
	"math"
	"slices"
	"testing"
)

func TestReplicasAreComparedOverAllLegs(t *testing.T) {
	p := PathReplicas{Path: PathDeduct}
	for _, leg := range []struct{ one, three float64 }{{100, 110}, {300, 290}, {200, 194}} {
		if err := p.add(row(Default, 1, 1, 256, leg.one, 0), row(Default, 3, 1, 256, leg.three, 0)); err != nil {
			t.Fatal(err)
		}
	}
	// The ratio is 594/600 = 0.99, and the legs are 11, -7 and -4 off: a deviation of 9.64 each.
	if want := math.Sqrt((121+49+16)/2.0/3) / 200; math.Abs(p.Ratio.Value-0.99) > 1e-9 ||
		math.Abs(p.Ratio.Error-want) > 1e-9 || !p.Ratio.OK {
		t.Errorf("%+v, want 0.99 ± %.4f, within its error", p.Ratio, want)
	}
	if err := p.add(row(Default, 1, 1, 256, 600, 0), row(Default, 3, 1, 256, 500, 0)); err != nil {
		t.Fatal(err)
	}
	if p.Ratio.OK {
		t.Errorf("%+v, want it missed", p.Ratio)
	}
	if err := p.add(row(Default, 1, 1, 256, 0, 0), row(Default, 3, 1, 256, 500, 0)); err == nil || len(p.One) != 4 {
		t.Errorf("%v, %d legs: want an error, and the leg left out: one replica sold nothing", err, len(p.One))
	}
}

func TestReplicasTellOfWrongVerdicts(t *testing.T) {
	passed, violated, unknown := Row{Verdict: "pass"}, Row{Verdict: "violation"}, Row{Verdict: "unknown"}
	r := Replicas{Paths: []PathReplicas{
		{One: []Row{passed, unknown}, Several: []Row{passed, passed}},
		{One: []Row{passed}, Several: []Row{violated}},
	}}
	if wrong := r.Wrong(); !slices.Equal(wrong, []Row{unknown, violated}) {
		t.Errorf("%+v, want the unknown and the violation", wrong)
	}
}
