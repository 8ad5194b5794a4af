package faults

import (
	"context"
	"testing"

	"orderstock/loadtest/trial"
)

// Two faults have struck when each has, by any of its acts.
func TestTogetherStrikesWhenEachFaultHas(t *testing.T) {
	acts := func(counts ...int) (acts []*trial.Simple) {
		for _, n := range counts {
			acts = append(acts, &trial.Simple{Count: func(context.Context) (int, error) { return n, nil }})
		}
		return acts
	}
	for _, c := range []struct {
		one, other []*trial.Simple
		want       int
	}{
		{acts(1, 1), acts(0, 3), 1},
		{acts(1, 1), acts(3, 0), 1},
		{acts(1, 1), acts(0, 0), 0},
		{acts(0), acts(2, 5), 0},
		{acts(7), acts(2, 5), 5},
	} {
		both := &together{faults: [][]*trial.Simple{c.one, c.other}}
		if n, err := both.Fired(t.Context()); err != nil || n != c.want {
			t.Errorf("fired %d times, %v; want %d", n, err, c.want)
		}
	}
}
