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
		load     Load
		variants []string
		want     []string
	}{
		"the quick ones go twice in a round": {
			Load{Goods: 100, Clients: 64},
			[]string{"case-study", "sequential", Default},
			[]string{
				"case-study/1", "sequential/1", "grouped/1", "grouped/1", "sequential/1",
				"grouped/1", "sequential/1", "case-study/1", "sequential/1", "grouped/1",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for c := range test.load.turns(contestants(test.variants...)) {
				got = append(got, c.String())
				c.reports = append(c.reports, &history.Report{
					Elapsed: took[c.strategy], History: &history.History{Window: time.Second},
				})
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%v\nwant %v", got, test.want)
			}
		})
	}
}

func contestants(strategies ...string) (all []*contestant) {
	for _, s := range strategies {
		all = append(all, &contestant{variant: variant{strategy: s, replicas: 1}})
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
	if got := fmt.Sprint(passes[1].variants(), passes[1].loads()); got != "[grouped-rows/3 grouped/3] "+
		"[deduct of one hot product, 256 clients order of one hot product, 256 clients]" {
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
		if p := Quick().Only(c.only, nil, nil); p.LockCost != c.want || len(p.passes()[0].Strategies) != len(c.only) {
			t.Errorf("only %v: %+v", c.only, p)
		}
	}
}
