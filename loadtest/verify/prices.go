package verify

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
)

// restocked is a restock in the middle of the run, by the client's clock: it was done between sent and done.
// Either is never if no call may have done it, or none was answered.
type restocked struct {
	operation.Restock
	goods      int // the index of the product
	sent, done time.Duration
	recorded   bool // the books have it
}

// findRestocks returns the restocks that the run sent in its middle.
func (j *judge) findRestocks() (all []restocked) {
	for i := range j.h.Asides {
		a := &j.h.Asides[i]
		body, g, ok := j.restockIn(a)
		if !ok || a.Token != "" || j.h.RestockOf([]byte(body.Flag)) >= 0 {
			continue
		}
		at := slices.IndexFunc(all, func(r restocked) bool { return r.Flag == body.Flag })
		if at < 0 {
			at = len(all)
			all = append(all, restocked{Restock: body, goods: g, sent: never, done: never})
		}
		if mayHaveWorked(&history.Call{Failure: a.Failure, Code: a.Code, Problem: a.Problem}) {
			all[at].sent = min(all[at].sent, a.Sent)
		}
		if a.Failure == history.Answered && a.Code == http.StatusOK {
			all[at].done = min(all[at].done, a.Done)
		}
	}
	return all
}

// restockUnder returns the run's restock under a flag that it sent in its middle, or nil.
func (j *judge) restockUnder(flag []byte) *restocked {
	for i := range j.restocks {
		if j.restocks[i].Flag == string(flag) {
			return &j.restocks[i]
		}
	}
	return nil
}

// restockedMore judges the entry under the flag of a restock in the middle of the run.
func (j *judge) restockedMore(e *Entry, r *restocked) {
	r.recorded = true
	right := r.sent != never && len(e.Flows) == 1 && len(e.Restocks) == 1 &&
		len(e.Operations)+len(e.Orders)+len(e.Items) == 0
	if right {
		f, row := &e.Flows[0], &e.Restocks[0]
		right = f.Kind == Restock && f.Goods == r.GoodsID && f.Num == r.Num && row.Goods == r.GoodsID &&
			(r.Name == nil) == (row.Name == nil) && (r.Name == nil || *r.Name == string(row.Name)) &&
			same(r.Price, row.Price)
	}
	if !right {
		j.add(Unexplained, e.Flag, -1, r.GoodsID, "a restock that the run sent, of "+strconv.FormatInt(r.Num, 10)+
			" pieces", "%s, flows: %s, restocks: %s", e.summary(), words(e.Flows), words(e.Restocks))
	}
}

func same(a, b *int64) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

// mayBePriced reports whether Goods[i] may have had a price at some moment of a call: its first price, or a restock's,
// unless a later restock had replaced that before.
func (j *judge) mayBePriced(i int, price int64, from, to time.Duration) bool {
	if price == j.h.Goods[i].Price && !j.replaced(i, -1, from) {
		return true
	}
	for k := range j.restocks {
		r := &j.restocks[k]
		if r.goods == i && r.Price != nil && *r.Price == price && r.sent < to && !j.replaced(i, r.done, from) {
			return true
		}
	}
	return false
}

// replaced reports whether a price of Goods[i] that was set by a moment was replaced for certain by another one.
func (j *judge) replaced(i int, set, by time.Duration) bool {
	return slices.ContainsFunc(j.restocks, func(r restocked) bool {
		return r.goods == i && r.Price != nil && r.sent > set && r.done < by
	})
}

// pricedAs compares the items of order n in the books with the items that were sent, at prices that the run's products
// had, and keeps them as paid. It returns ToldNothing if they are others.
func (j *judge) pricedAs(e *Entry, n int) history.Told {
	items := j.h.Items(n)
	j.paid = j.paid[:0]
	for i := range e.Items {
		row := &e.Items[i]
		g, ours := j.h.Product(row.GoodsID)
		if len(items) != len(e.Items) || !ours || row.Item != items[i] || !j.mayBePriced(g, row.Price, 0, never) {
			return history.ToldNothing
		}
		j.paid = append(j.paid, history.PricedItem{Item: row.Item, Price: row.Price})
	}
	for _, told := range []history.Told{history.ToldAsSent, history.ToldRepriced} {
		if slices.Equal(j.paid, j.h.Named(told, history.Place, n)) {
			return told
		}
	}
	if len(items) == 0 || len(e.Items) == 0 {
		return history.ToldNothing
	}
	return history.ToldPaid
}

// price judges the price that an order has of the product whose price changed. The order service read it after the
// order was first sent, or before, but not longer than its time to live, and before any answer named the order. Its
// clock may run a twentieth slower than the client's.
func (j *judge) price(e *Entry, n int) {
	at := slices.IndexFunc(e.Items, func(it ItemRow) bool {
		i, ours := j.h.Product(it.GoodsID)
		return ours && i == history.Repriced
	})
	if at < 0 {
		return
	}
	t, from, price := j.times(n), time.Duration(0), e.Items[at].Price
	if j.h.PriceTTL > 0 {
		from = t.sent - j.h.PriceTTL - j.h.PriceTTL/20
	}
	if t.sent == never || j.h.FormOf(n) == history.Keyless && t.named == never || // it may be another order's row
		j.mayBePriced(history.Repriced, price, from, t.named) {
		return
	}
	j.add(PriceInForce, e.Flag, n, e.Items[at].GoodsID, "a price that was in force between "+j.h.PriceTTL.String()+
		" before the order was sent and its first answer", "%d, sent at %s, answered at %s", price, when(t.sent),
		when(t.named))
}

// when describes a moment.
func when(at time.Duration) string {
	if at == never {
		return "no known time"
	}
	return at.Round(time.Millisecond).String()
}
