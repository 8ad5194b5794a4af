package deduct

import (
	"context"
	"slices"
	"time"

	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// holding is the locks of the partitions of one group, all of them or none.
type holding struct {
	keepers []*keeper // by ascending partition
	locks   []Lock    // by keeper; empty if one was not granted
}

// holdAll takes the locks of the keepers, in their order. Every group of every process takes its locks by ascending
// partition, so no two groups wait for each other. Before it waits for a lock, it releases those above that the process
// keeps: their next holder may be whom it waits for. If one lock is not granted within the patience, the group runs
// without any.
func holdAll(ctx context.Context, keepers []*keeper, more func(*keeper) bool) holding {
	h := holding{keepers: keepers}
	for i, k := range keepers {
		asked := time.Now()
		lock := k.hold(ctx, func() {
			for _, above := range slices.Backward(keepers[i+1:]) {
				above.rest(ctx)
			}
		})
		lock.record(ctx, "acquire-lock", asked, lock.errNotHeld())
		if lock.Release == nil {
			holding{keepers: keepers[:i]}.leave(ctx, more, false)
			return holding{}
		}
		h.locks = append(h.locks, lock)
	}
	return h
}

// first returns the first lock, or the zero Lock.
func (h holding) first() Lock {
	if len(h.locks) == 0 {
		return Lock{}
	}
	return h.locks[0]
}

// leave ends the group's use of the locks: see keeper.leave. It releases all of them if again is true, which a lost
// lock or a stale token requires.
func (h holding) leave(ctx context.Context, more func(*keeper) bool, again bool) {
	for i := len(h.keepers) - 1; i >= 0; i-- {
		if k := h.keepers[i]; again {
			k.drop(ctx)
		} else {
			k.leave(ctx, more(k))
		}
	}
}

// took records the duration of a transaction under the locks.
func (h holding) took(d time.Duration) {
	for _, k := range h.keepers {
		k.took = d
	}
}

// fence returns the fence of the locks: for a product, the token of its partition, and no
// token if its partition's lock is not among them. It is nil if no lock is held.
func (h holding) fence(partitions int) stock.Fence {
	if len(h.locks) == 0 {
		return nil
	}
	tokens := make(map[int]operation.Token, len(h.locks))
	for i, k := range h.keepers {
		tokens[k.partition] = h.locks[i].Token
	}
	return func(goodsID int64) operation.Token { return tokens[operation.Partition(goodsID, partitions)] }
}
