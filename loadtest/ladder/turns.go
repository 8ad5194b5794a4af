package ladder

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// legs returns the order of n legs, in which each contestant has a turn. Each leg goes in the reverse order of the one
// before, so that a steady drift affects all of them.
func legs(n int, say func(format string, args ...any)) func([]*contestant) iter.Seq[*contestant] {
	return func(all []*contestant) iter.Seq[*contestant] {
		return func(yield func(*contestant) bool) {
			order := slices.Clone(all)
			for leg := range n {
				for _, c := range order {
					if !yield(c) {
						return
					}
				}
				var rates []string
				for _, c := range all {
					rates = append(rates, fmt.Sprintf("%.0f/s", c.last().DonePerS))
				}
				say("leg %d of %d: %s", leg+1, n, strings.Join(rates, ", "))
				slices.Reverse(order)
			}
		}
	}
}

// turns is the order of a row's turns: all in turn, round after round, each in the reverse order of the one before. If
// the point has rows that are compared closely, these also take a turn after every other's: they differ from each other
// by far less than a few turns of one row do. Otherwise the quick rows take a second turn at the end of a round, the
// last first, which costs little.
func (p point) turns(all []*contestant) iter.Seq[*contestant] {
	return func(yield func(*contestant) bool) {
		order, near := slices.Clone(all), p.closest(all)
		for range p.rounds() {
			for _, c := range order {
				if !yield(c) {
					return
				}
				for _, c := range near {
					if !yield(c) {
						return
					}
				}
				slices.Reverse(near)
			}
			slices.Reverse(order)
			for _, c := range order {
				if len(near) == 0 && c.quick() && !yield(c) {
					return
				}
			}
		}
	}
}

// closest returns the rows that need many turns to show a difference: for one client, the default and its
// reference strategy; under load on one hot product, the default with 1 and 3 replicas, and
// conditional-update.
func (p point) closest(all []*contestant) []*contestant {
	of := func(is func(shape) bool) []*contestant {
		return slices.DeleteFunc(slices.Clone(all), func(c *contestant) bool { return !is(c.shape) })
	}
	isDefault := func(s shape) bool { return s.strategy == Default }
	var rows []*contestant
	switch {
	case p.sellOut:
	case p.clients == 1:
		than := "conditional-update"
		if p.goods == 1 {
			than = "sequential"
		}
		rows = of(func(s shape) bool { return s.replicas == 1 && (isDefault(s) || s.strategy == than) })
	case p.goods == 1 && slices.Contains(underLoad, p.clients) && len(of(isDefault)) > 1:
		rows = of(func(s shape) bool { return isDefault(s) || s == shape{"conditional-update", 1} })
	}
	if len(rows) < 2 {
		return nil
	}
	return rows
}
