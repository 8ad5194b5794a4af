package stock

import (
	"fmt"

	"orderstock/pkg/operation"
)

// Level is the row of a product, as seen by the transaction that holds it.
type Level struct {
	Num     int64
	Token   operation.Token // of the last lock holder that wrote the row
	Version int64           // counts the deductions of strategy optimistic
}

// Result is the answer to one request of a group.
type Result struct {
	Operation operation.Operation
	Err       error
}

// New reports whether the group produced the outcome, and must record it.
func (r Result) New() bool { return r.Err == nil && !r.Operation.Repeat }

// Allocation is the result of a group of requests.
type Allocation struct {
	// Results answer the requests one by one.
	Results []Result
	// Taken is the number of pieces to deduct, by product.
	Taken map[int64]int64
}

// Allocate decides a group of requests in their order. Each gets all of its items or none; a refused request costs the
// others nothing. Recorded holds the operations that the flags already have. The second request of the group under one
// flag gets the outcome of the first, like any repeat.
//
// Levels holds the rows of the products that exist. Allocate lowers their Num by the pieces that it allocates.
func Allocate(requests []Request, levels map[int64]*Level, recorded map[string]operation.Operation) Allocation {
	a := Allocation{Results: make([]Result, len(requests)), Taken: make(map[int64]int64, len(levels))}
	decided := make(map[string]operation.Operation, len(requests))
	for i, r := range requests {
		first, repeated := recorded[r.Flag]
		if !repeated {
			first, repeated = decided[r.Flag]
		}
		if repeated {
			a.Results[i].Operation, a.Results[i].Err = first.Answer(r.Items)
			continue
		}
		op := operation.Operation{Flag: r.Flag, State: operation.Done, Items: r.Items}
		short, err := FirstShort(r.Items, levels)
		switch {
		case err != nil:
			a.Results[i].Err = err
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
		a.Results[i].Operation = op
	}
	return a
}

// FirstShort returns the first product whose level is too low, or 0 if there is none. It returns ErrUnknownGoods if a
// product does not exist, even if another one is short.
func FirstShort(items []operation.Item, levels map[int64]*Level) (int64, error) {
	var short int64
	for _, item := range items {
		level, ok := levels[item.GoodsID]
		switch {
		case !ok:
			return 0, fmt.Errorf("%w: %d", operation.ErrUnknownGoods, item.GoodsID)
		case level.Num < item.Num && short == 0:
			short = item.GoodsID
		}
	}
	return short, nil
}
