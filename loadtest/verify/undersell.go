package verify

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"orderstock/loadtest/history"
)

// checkRejections looks for orders that were rejected while there was enough stock.
//
// It is not known when the stock service decided, and its clocks are not trusted.
// What is known, by the client's one clock, is that it decided between the
// first sending of the order and the first answer that told the rejection, that
// an order's deduction was not committed before that order was first sent, and
// that a cancellation's restore was committed before the answer that told it.
// So at the moment of the decision there were at least
//
//	the stock of the run
//	- all deductions of orders that were first sent before the rejection was told
//	+ all restores that were told before the rejected order was first sent
//
// pieces of a product. If that is enough for each item of a rejected order, the
// rejection was wrong, whatever the interleaving: there are no false alarms.
// Without traffic around an order, the bound is the exact level.
func (l *ledger) checkRejections(h *history.History, t *told, found *findings) {
	bounds := make(map[int64]*levelBound, len(h.Goods))
	for _, g := range h.Goods {
		bounds[g.ID] = newLevelBound(g.Stock, l.sums[g.ID], t)
	}
	for n := range l.ops {
		if l.ops[n].state != history.Rejected && l.ops[n].status != history.Rejected {
			continue
		}
		op := &t.ops[n]
		fits := len(h.Items(n)) > 0
		for _, it := range h.Items(n) {
			if b := bounds[it.GoodsID]; b == nil || b.least(op.sent, op.rejected) < it.Num {
				fits = false
				break
			}
		}
		if fits {
			found.add(RejectedOnlyWhenShort, "%s (order %d): rejected, while there was stock for all of %v", h.Key(n),
				l.ops[n].order, h.Items(n))
		}
	}
}

// levelBound bounds the stock level of one product from below.
type levelBound struct {
	stock    int64
	deducts  timeline // by the time from which each may have happened
	restores timeline // by the time from which each has surely happened
}

// timeline is a list of moments, with the pieces of all up to each.
type timeline []moment

type moment struct {
	at  time.Duration
	sum int64
}

func newLevelBound(stock int64, sum *goodsSum, t *told) *levelBound {
	b := &levelBound{stock: stock}
	if sum == nil {
		return b
	}
	for _, d := range sum.deducts {
		at := time.Duration(0) // not an order of the run: at any time
		if d.op >= 0 {
			at = t.ops[d.op].sent
		}
		b.deducts = append(b.deducts, moment{at, d.num})
	}
	for _, r := range sum.restores {
		if r.op >= 0 && t.ops[r.op].cancelled != never {
			b.restores = append(b.restores, moment{t.ops[r.op].cancelled, r.num})
		}
	}
	b.deducts.sumUp()
	b.restores.sumUp()
	return b
}

func (tl timeline) sumUp() {
	slices.SortFunc(tl, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	for i := 1; i < len(tl); i++ {
		tl[i].sum += tl[i-1].sum
	}
}

// before returns the pieces of all moments before at.
func (tl timeline) before(at time.Duration) int64 {
	i := sort.Search(len(tl), func(i int) bool { return tl[i].at >= at })
	if i == 0 {
		return 0
	}
	return tl[i-1].sum
}

// least returns a level below which the product cannot have been at a moment
// between sent and told.
func (b *levelBound) least(sent, told time.Duration) int64 {
	return b.stock - b.deducts.before(told) + b.restores.before(sent)
}
