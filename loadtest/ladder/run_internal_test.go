package ladder

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"orderstock/loadtest/history"
)

func TestTurns(t *testing.T) {
	const slow, quick = 2 * time.Second, time.Second // to serve all clients of a turn of a second
	took := map[string]time.Duration{"case-study": slow, "sequential": quick, Default: quick}
	for name, test := range map[string]struct {
		point  point
		shapes []shape
		want   []string
	}{
		"the quick ones go twice in a round": {
			point{goods: 100, clients: 64},
			[]shape{{"case-study", 1}, {"sequential", 1}, {Default, 1}},
			[]string{
				"case-study/1", "sequential/1", "grouped/1", "grouped/1", "sequential/1",
				"grouped/1", "sequential/1", "case-study/1", "sequential/1", "grouped/1",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for c := range test.point.turns(contestants(test.shapes)) {
				got = append(got, c.shape.String())
				c.reports = append(c.reports, &history.Report{
					Elapsed: took[c.shape.strategy], History: &history.History{Window: time.Second},
				})
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%v\nwant %v", got, test.want)
			}
		})
	}
}

func contestants(shapes []shape) (all []*contestant) {
	for _, s := range shapes {
		all = append(all, &contestant{variant: variant{shape: s}})
	}
	return all
}

// The quick plan also measures the cost of the lock with three replicas, with only the groups with and without it.
func TestQuickHasALockPass(t *testing.T) {
	t.Parallel()
	quick := Quick()
	passes := quick.passes()
	if len(passes) != 2 || quick.Size() != passes[0].Size()+4 {
		t.Fatalf("%d passes, %d rows; want two, the second of 4 rows", len(passes), quick.Size())
	}
	if got := fmt.Sprint(passes[1].shapes(), passes[1].points()); got != "[grouped-rows/3 grouped/3] "+
		"[path deduct, products 1, clients 256 path order, products 1, clients 256]" {
		t.Error(got)
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
		if p := Quick().Only(c.only); p.LockCost != c.want || len(p.passes()[0].Strategies) != len(c.only) {
			t.Errorf("only %v: %+v", c.only, p)
		}
	}
}
