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

// turns is the order of a row's turns: all in turn, round after round, each in the reverse order of the one before. The
// quick rows take a second turn at the end of a round, the last first, which costs little.
func (p point) turns(all []*contestant) iter.Seq[*contestant] {
	return func(yield func(*contestant) bool) {
		order := slices.Clone(all)
		for range p.rounds() {
			for _, c := range order {
				if !yield(c) {
					return
				}
			}
			slices.Reverse(order)
			for _, c := range order {
				if c.quick() && !yield(c) {
					return
				}
			}
		}
	}
}
