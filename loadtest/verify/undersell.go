package verify

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"orderstock/loadtest/history"
)

// rejections looks for orders that were rejected although there was enough stock of the product that the reason names,
// or of all if it names none.
//
// Nobody knows when the stock service decided, and its clocks are not trusted. The client's single clock shows that
//   - it decided between the first sending of the order and the first answer with the rejection,
//   - an order's deduction was not committed before that order was first sent,
//   - a cancellation's restore was committed before the answer that reports it.
//
// So at the moment of the decision there were at least
//
//	the stock of the run
//	- all deductions of orders first sent before the rejection was answered
//	+ all restores and further restocks that were answered before the rejected order was first sent
//
// pieces of a product. If that suffices for the item that a rejection names, the rejection was wrong in any
// interleaving: there are no false alarms. Without traffic around an order, the bound is the exact level.
func (j *judgement) rejections() {
	for _, r := range j.rejected {
		items, at := j.h.Items(int(r.n)), j.times(int(r.n))
		named, goods, flag := items, int64(0), []byte(nil)
		if r.item >= 0 {
			named, goods = items[r.item:r.item+1], items[r.item].GoodsID
		}
		fits := func(it history.Item) bool { return j.product(it.GoodsID).least(at.sent, at.rejected) >= it.Num }
		if len(named) == 0 || slices.ContainsFunc(named, func(it history.Item) bool { return !fits(it) }) {
			continue
		}
		if r.id != 0 {
			flag = decimal(r.id)
		}
		j.add(RejectedOnlyWhenShort, flag, int(r.n), goods, "too little stock of the product that the reason names",
			"stock for %s, and REJECTED", words(items))
	}
}

// times are the moments of an order by the client's clock, or never.
type times struct {
	// sent is when the first call that places the order was sent; rejected and cancelled are when the first answer with
	// that state arrived.
	sent, rejected, cancelled time.Duration
	// sold is when the first answer arrived that shows the deduction, and undone when the first call was sent that may
	// cancel it, or 0 if it may be given back without one.
	sold, undone time.Duration
	// named is when the first answer arrived that names the order.
	named time.Duration
}

func (j *judgement) times(n int) times {
	t := times{never, never, never, never, never, never}
	for _, i := range j.callsOf(n) {
		c := &j.h.Calls[i]
		if c.Kind.Places() {
			t.sent = min(t.sent, c.Sent)
		}
		if c.Order != 0 {
			t.named = min(t.named, c.Done)
		}
		if c.Kind == history.Cancel {
			t.undone = min(t.undone, c.Sent)
		}
		switch c.Status {
		case history.Confirmed, history.Done, history.Restored:
			t.sold = min(t.sold, c.Done)
		default:
		}
		switch c.Status {
		case history.Rejected:
			t.rejected = min(t.rejected, c.Done)
		case history.Cancelled, history.Restored:
			t.cancelled = min(t.cancelled, c.Done)
		default:
		}
	}
	return t
}

// moved returns the times of an order whose pieces moved: one outside of the run, which is -1, may do it at any time.
func (j *judgement) moved(n int) times {
	if n < 0 {
		return times{sold: never, cancelled: never}
	}
	t := j.times(n)
	if t.undone == never {
		t.undone = 0
	}
	return t
}

// levelBound bounds the stock level of one product, by its moves, each at the earliest and at the latest possible time.
// Restocks in the middle of the run count as restores.
type levelBound struct{ earlyDeducts, lateDeducts, earlyRestores, lateRestores timeline }

func (b *levelBound) deduct(t times, pieces int64) {
	b.earlyDeducts.add(t.sent, pieces)
	b.lateDeducts.add(t.sold, pieces)
}

func (b *levelBound) restore(t times, pieces int64) {
	b.earlyRestores.add(t.undone, pieces)
	b.lateRestores.add(t.cancelled, pieces)
}

// timeline is a list of moments, each with its pieces and, after sumUp, the running total.
type timeline []moment

type moment struct {
	at  time.Duration
	sum int64
}

// add adds pieces at a moment, unless that is never.
func (tl *timeline) add(at time.Duration, pieces int64) {
	if at != never {
		*tl = append(*tl, moment{at, pieces})
	}
}

// bound completes the bounds of all products. The books must have been read.
func (j *judgement) bound() {
	for i := range j.products {
		p := &j.products[i]
		for _, tl := range []timeline{p.earlyDeducts, p.lateDeducts, p.earlyRestores, p.lateRestores} {
			tl.sumUp()
		}
	}
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

// least and most bound the product's level at any moment between sent and answered.
func (p *product) least(sent, answered time.Duration) int64 {
	return p.Stock - p.earlyDeducts.before(answered) + p.lateRestores.before(sent)
}

func (p *product) most(sent, answered time.Duration) int64 {
	return p.Stock - p.lateDeducts.before(sent) + p.earlyRestores.before(answered)
}
