package stock

import (
	"fmt"

	"orderstock/pkg/operation"
)

// Level is a goods' row as a transaction that holds it sees it.
type Level struct {
	Num   int64
	Token Token // of the last holder that wrote it
}

// Outcome is what became of one request of a group.
type Outcome struct {
	Operation Operation
	Err       error
}

// New reports whether the group made the outcome, so that it has to be recorded.
func (o Outcome) New() bool { return o.Err == nil && !o.Operation.Repeat }

// Allocation is what a group of requests comes to.
type Allocation struct {
	// Outcomes answer the requests one by one.
	Outcomes []Outcome
	// Taken holds the pieces to deduct of each goods that any request gets.
	Taken map[int64]int64
}

// Allocate decides a group of requests in their order: each gets all of its
// items or none, and one that is refused costs the others nothing. Recorded
// holds the operations that their flags have already; a flag's second request
// in the group is answered with the outcome of its first, as any repeat.
//
// Levels holds the rows of the goods that exist. Allocate lowers their Num by
// what it gives away.
func Allocate(requests []Request, levels map[int64]*Level, recorded map[string]Operation) Allocation {
	a := Allocation{Outcomes: make([]Outcome, len(requests)), Taken: make(map[int64]int64, len(levels))}
	decided := make(map[string]Operation, len(requests))
	for i, r := range requests {
		if op, ok := recorded[r.Flag]; ok {
			a.Outcomes[i] = outcome(op.Answer(r.Items))
			continue
		}
		if op, ok := decided[r.Flag]; ok {
			a.Outcomes[i] = outcome(op.Answer(r.Items))
			continue
		}
		op := Operation{Flag: r.Flag, State: operation.Done, Items: r.Items}
		short, err := FirstShort(r.Items, levels)
		switch {
		case err != nil:
			a.Outcomes[i].Err = err
			continue
		case short != 0:
			op.State, op.Reason = operation.Rejected, ShortReason(short)
		default:
			for _, item := range r.Items {
				levels[item.GoodsID].Num -= item.Num
				a.Taken[item.GoodsID] += item.Num
			}
		}
		decided[r.Flag] = op
		a.Outcomes[i].Operation = op
	}
	return a
}

func outcome(op Operation, err error) Outcome { return Outcome{Operation: op, Err: err} }

// FirstShort returns the first goods of which too little is left, or 0. It
// returns ErrUnknownGoods where one of them does not exist, short or not.
func FirstShort(items []operation.Item, levels map[int64]*Level) (int64, error) {
	var short int64
	for _, item := range items {
		level, ok := levels[item.GoodsID]
		switch {
		case !ok:
			return 0, fmt.Errorf("%w: %d", ErrUnknownGoods, item.GoodsID)
		case level.Num < item.Num && short == 0:
			short = item.GoodsID
		}
	}
	return short, nil
}
