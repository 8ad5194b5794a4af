package ladder

import (
	"slices"
	"testing"
	"time"

	"orderstock/loadtest"
)

func TestTurns(t *testing.T) {
	const slow, quick = 2 * time.Second, time.Second // to serve all clients of a turn of a second
	took := map[string]time.Duration{"case-study": slow, "sequential": quick, Default: quick}
	both := []shape{{Default, 1}, {Default, 3}}
	twice := []string{"grouped/1", "grouped/3", "grouped/3", "grouped/1", "grouped/3", "grouped/1", "grouped/1", "grouped/3"}
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
		"what is alike goes after every other": {
			point{goods: 1, clients: 64},
			[]shape{{"case-study", 1}, {Default, 1}, {Default, 3}},
			[]string{
				"case-study/1", "grouped/1", "grouped/3", "grouped/1", "grouped/3", "grouped/1", "grouped/3", "grouped/1", "grouped/3",
				"grouped/3", "grouped/1",
				"grouped/3", "grouped/3", "grouped/1", "grouped/1", "grouped/1", "grouped/3", "case-study/1", "grouped/3", "grouped/1",
				"grouped/1", "grouped/3",
			},
		},
		"one alone is like no other": {
			point{goods: 1, clients: 64},
			[]shape{{"case-study", 1}, {"case-study", 3}, {Default, 1}},
			[]string{
				"case-study/1", "case-study/3", "grouped/1", "grouped/1",
				"grouped/1", "case-study/3", "case-study/1", "grouped/1",
			},
		},
		"a sell-out is not what is judged":  {point{goods: 1, clients: 64, sellOut: true}, both, twice},
		"nor are many goods":                {point{goods: 100, clients: 64}, both, twice},
		"nor clients that make no load yet": {point{goods: 1, clients: 16}, both, twice},
	} {
		t.Run(name, func(t *testing.T) {
			var all []*contestant
			for _, s := range test.shapes {
				all = append(all, &contestant{shape: s})
			}
			var got []string
			for c := range turns(test.point, all) {
				got = append(got, c.shape.String())
				c.reports = append(c.reports, &loadtest.Report{Elapsed: took[c.shape.strategy], History: &loadtest.History{Window: time.Second}})
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%v\nwant %v", got, test.want)
			}
		})
	}
}
