package tables_test

import (
	"reflect"
	"strings"
	"testing"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
)

// covered notes which steps and faults the cells strike with, on which side.
func covered(cells []trial.Experiment) map[string]bool {
	seen := map[string]bool{}
	for _, c := range cells {
		for part := range strings.FieldsFuncSeq(c.Name, func(r rune) bool { return r == '/' || r == '+' }) {
			seen[part] = true
		}
	}
	return seen
}

// A cell excuses calls by the times of its acts.
func TestNoCellExcusesItsWholeRun(t *testing.T) {
	for _, c := range append(tables.Cells(), tables.OfCluster()...) {
		if c.Load.Disturbed {
			t.Errorf("%s excuses all of its calls", c.Name)
		}
	}
}

func TestEachSetCoversEachStepAndEachFault(t *testing.T) {
	for name, cells := range map[string][]trial.Experiment{"whole": tables.Cells(), "reduced": tables.Reduced()} {
		seen := covered(cells)
		var want []string
		for _, step := range faultpoint.Steps {
			want = append(want, string(step))
			if _, ok := trial.Points[step]; !ok {
				t.Errorf("nothing can strike at %s", step)
			}
		}
		want = append(want, tables.Strikes...)
		want = append(want, tables.Surroundings...)
		for _, c := range tables.Lasting() {
			want = append(want, strings.TrimPrefix(c.Name, "around/during/"))
		}
		for _, w := range append(want, "before", "after", "during") {
			if !seen[w] {
				t.Errorf("the %s matrix leaves out %s", name, w)
			}
		}
	}
}

func TestWholeMatrix(t *testing.T) {
	cells := tables.Cells()
	baskets := 0
	for _, c := range cells {
		if strings.HasSuffix(c.Name, "/baskets") {
			baskets++
		}
	}
	if baskets < 30 {
		t.Errorf("%d cells of baskets", baskets)
	}
	steps, around := len(faultpoint.Steps), len(tables.Surroundings)
	// No reply is lost before a step, and a Redis that is down is not flushed.
	want := steps*(2*len(tables.Strikes)-1) + around + around*(around-1)/2 - 1 + len(tables.Lasting())
	if len(cells)-baskets != want {
		t.Errorf("%d cells and %d of baskets, want %d", len(cells)-baskets, baskets, want)
	}
	names := map[string]bool{}
	for _, c := range cells {
		if names[c.Name] {
			t.Errorf("%s twice", c.Name)
		}
		names[c.Name] = true
		if found, ok := tables.FindCell(c.Name); !ok || !reflect.DeepEqual(found.Acts, c.Acts) {
			t.Errorf("Find(%s) = %v %v", c.Name, found, ok)
		}
	}
	for _, c := range tables.Reduced() {
		if _, ok := tables.FindCell(c.Name); !ok {
			t.Errorf("the reduced matrix has %s, which the whole has not", c.Name)
		}
	}
}

func TestActsOfTheCellsAreKnown(t *testing.T) {
	for _, c := range append(tables.Cells(), tables.OfCluster()...) {
		for _, a := range c.Acts {
			if err := a.Known(); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	}
}
