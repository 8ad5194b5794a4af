package ladder

import (
	"slices"
	"testing"
)

// The quick plan also measures the cost of the lock with three replicas, with only the groups with and without it.
func TestQuickMeasuresTheLock(t *testing.T) {
	t.Parallel()
	quick := Quick()
	races := quick.races()
	without := quick
	without.LockCost = false
	if n := len(without.races()); len(races) != n+2 || quick.Size() != without.Size()+4 {
		t.Fatalf("%d races, %d rows; want two races and four rows more than %d and %d", len(races), quick.Size(), n,
			without.Size())
	}
	for _, race := range races[len(races)-2:] {
		var got []string
		for _, e := range race {
			got = append(got, e.Name+" "+newRow(e).load())
		}
		load := string(race[0].Load.Path) + " of one hot product, 256 clients"
		if want := []string{"grouped-rows/3 " + load, "grouped/3 " + load}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestLockCostNeedsBothStrategies(t *testing.T) {
	for _, c := range []struct {
		only []string
		want bool
	}{
		{[]string{Default, "grouped-rows", "unsafe"}, true},
		{[]string{Default}, false},
	} {
		if p := Quick().Only(c.only, nil, nil); p.LockCost != c.want || len(p.races()[0]) != len(c.only) {
			t.Errorf("only %v: %+v", c.only, p)
		}
	}
}
