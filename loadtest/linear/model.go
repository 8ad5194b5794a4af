package linear

import (
	"fmt"
	"slices"
	"strings"

	"orderstock/pkg/operation"

	"github.com/anishathalye/porcupine"
)

// Kind is the effect of a call on the stock.
type Kind int

// The kinds.
const (
	// Deduct takes all Items or, rejected, none.
	Deduct Kind = iota
	// Restore returns the Items of an earlier Deduct of the same flag.
	Restore
	// Restock adds the Items.
	Restock
	// Read sees the Items as the levels of one moment.
	Read
)

// Item is a quantity of one product; in a Read, its level.
type Item = operation.Item

// Call is one call of a history, with an outcome known from its answer or from the database.
type Call struct {
	Kind     Kind
	Flag     string // of a Deduct and its Restore
	Items    []Item
	Rejected bool // of a Deduct: its outcome
	// Begin and End bound the moment of the effect, in nanoseconds of one clock. Forever as End means that the answer
	// never came.
	Begin, End int64
	// Hint, if not 0, is the recorded time of the effect. The search begins there. A wrong hint makes it slower, but does
	// not change its result.
	Hint int64
	// Undone is true for a Deduct whose flag has a Restore in the history.
	Undone bool
}

// Forever is the End of a call that was never answered.
const Forever = int64(1) << 62

// state is the stock at one moment: the levels, and the flags whose deduction is done and whose restore is still to
// come. It is immutable.
type state struct {
	levels []Item   // by rising goods id
	open   []string // sorted
}

func (s state) key() string {
	var b strings.Builder
	for _, l := range s.levels {
		fmt.Fprintf(&b, "%d:%d,", l.GoodsID, l.Num)
	}
	return b.String() + strings.Join(s.open, ",")
}

func (s state) level(goods int64) int64 {
	if i, ok := s.find(goods); ok {
		return s.levels[i].Num
	}
	return 0
}

func (s state) find(goods int64) (int, bool) {
	return slices.BinarySearchFunc(s.levels, goods, func(l Item, id int64) int { return int(l.GoodsID - id) })
}

// add returns the state with sign times the items added.
func (s state) add(items []Item, sign int64) state {
	next := state{levels: slices.Clone(s.levels), open: s.open}
	for _, it := range items {
		i, ok := next.find(it.GoodsID)
		if !ok {
			next.levels = slices.Insert(next.levels, i, Item{GoodsID: it.GoodsID})
		}
		next.levels[i].Num += sign * it.Num
	}
	return next
}

// step is the sequential specification of the stock: whether the call may
// happen in this state with its outcome, and the state after it.
func step(s state, c *Call) (bool, state) {
	short := slices.ContainsFunc(c.Items, func(it Item) bool { return s.level(it.GoodsID) < it.Num })
	switch c.Kind {
	case Deduct:
		if c.Rejected {
			return short, s
		}
		if short {
			return false, s
		}
		next := s.add(c.Items, -1)
		if c.Undone {
			i, _ := slices.BinarySearch(s.open, c.Flag)
			next.open = slices.Insert(slices.Clone(s.open), i, c.Flag)
		}
		return true, next
	case Restore:
		i, done := slices.BinarySearch(s.open, c.Flag)
		if !done {
			return false, s
		}
		next := s.add(c.Items, +1)
		next.open = slices.Delete(slices.Clone(s.open), i, i+1)
		return true, next
	case Restock:
		return true, s.add(c.Items, +1)
	case Read:
		return !slices.ContainsFunc(c.Items, func(it Item) bool { return s.level(it.GoodsID) != it.Num }), s
	}
	return false, s
}

// batch is calls that take effect at one moment.
type batch []*Call

// sort puts the calls in the most likely order: first additions of stock, then deductions, then the refusals, when the
// least is left.
func (b batch) sort() {
	rank := func(c *Call) int {
		switch {
		case c.Kind == Restock || c.Kind == Restore:
			return 0
		case c.Kind == Deduct && !c.Rejected:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(b, func(x, y *Call) int { return rank(x) - rank(y) })
}

func (b batch) step(s state) (ok bool, next state) {
	for _, c := range b {
		if ok, s = step(s, c); !ok {
			return false, s
		}
	}
	return true, s
}

// model adapts the specification to porcupine. The state travels with its precomputed key, which porcupine compares.
func model() porcupine.Model {
	type keyed struct {
		state
		id string
	}
	return porcupine.Model{
		Init: func() any { return keyed{} },
		Step: func(s, input, _ any) (bool, any) {
			ok, next := input.(batch).step(s.(keyed).state)
			if !ok {
				return false, s
			}
			return true, keyed{next, next.key()}
		},
		Equal:             func(a, b any) bool { return a.(keyed).id == b.(keyed).id },
		DescribeOperation: func(input, _ any) string { return fmt.Sprint(input) },
		DescribeState:     func(s any) string { return s.(keyed).id },
	}
}

func (c *Call) String() string {
	name := [...]string{"deduct", "restore", "restock", "read"}[c.Kind]
	if c.Rejected {
		name += " (rejected)"
	}
	return fmt.Sprintf("%s %s %v", name, c.Flag, c.Items)
}
