package verify

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"orderstock/loadtest/history"
)

// repricing is the change of a product's price in the middle of the run, by the client's clock: the restock was carried
// out between sent and done. Without one, both are never.
type repricing struct {
	sent, done time.Duration
	recorded   bool // the books have it
}

func findRepricing(h *history.History) repricing {
	r := repricing{sent: never, done: never}
	for i := range h.Asides {
		a := &h.Asides[i]
		if a.Kind != history.Reprice {
			continue
		}
		if mayHaveWorked(&history.Call{Failure: a.Failure, Code: a.Code, Problem: a.Problem}) {
			r.sent = min(r.sent, a.Sent)
		}
		if a.Failure == history.Answered && a.Code == http.StatusOK {
			r.done = min(r.done, a.Done)
		}
	}
	return r
}

// changes reports whether an entry is under the flag of the restock that changes the price.
func (j *judge) changes(e *Entry) bool { return string(e.Flag) == j.h.RepriceFlag() }

// repriced judges the entry under the flag of the restock that changes the price.
func (j *judge) repriced(e *Entry) {
	j.change.recorded = true
	g, price := &j.h.Goods[history.Repriced], j.h.NewPrice()
	right := j.change.sent != never && len(e.Flows) == 1 && len(e.Restocks) == 1 &&
		len(e.Operations)+len(e.Orders)+len(e.Items) == 0
	if right {
		f, r := &e.Flows[0], &e.Restocks[0]
		right = f.Kind == Restock && f.Goods == g.ID && f.Num == history.RepricePieces &&
			r.Goods == g.ID && r.Name == nil && r.Price != nil && *r.Price == price
	}
	if !right {
		j.add(Unexplained, e.Flag, -1, g.ID, "a restock that the run sent, of "+strconv.Itoa(history.RepricePieces)+
			" pieces at "+strconv.FormatInt(price, 10), "%s, flows: %s, restocks: %s", e.summary(), words(e.Flows),
			words(e.Restocks))
	}
}

// priceNow returns the price of Goods[i] in the books.
func (j *judge) priceNow(i int) int64 {
	if i == history.Repriced && j.change.recorded {
		return j.h.NewPrice()
	}
	return j.h.Goods[i].Price
}

// inForce reports whether Goods[i] may have had a price at some moment of a call.
func (j *judge) inForce(i int, price int64, sent, done time.Duration) bool {
	if i == history.Repriced && price == j.h.NewPrice() {
		return done > j.change.sent
	}
	return price == j.h.Goods[i].Price && (i != history.Repriced || sent <= j.change.done)
}

// pricedAs compares the items of order n in the books with the items that were sent, at the run's prices. It returns
// ToldNothing if they are others.
func (j *judge) pricedAs(e *Entry, n int) history.Told {
	items := j.h.Items(n)
	same, repriced := len(items) == len(e.Items), false
	for i := 0; same && i < len(items); i++ {
		g, ours := j.h.Product(items[i].GoodsID)
		changed := ours && g == history.Repriced && e.Items[i].Price == j.h.NewPrice() && j.change.sent != never
		repriced = repriced || changed
		same = ours && e.Items[i].Item == items[i] && (changed || e.Items[i].Price == j.h.Goods[g].Price)
	}
	switch {
	case !same:
		return history.ToldNothing
	case repriced:
		return history.ToldRepriced
	}
	return history.ToldAsSent
}

// price judges the price that an order has of the product whose price changed. The order service read it after the
// order was first sent, or before, but not longer than its time to live, and before any answer named the order. Its
// clock may run a twentieth slower than the client's.
func (j *judge) price(e *Entry, n int, paid history.Told) {
	if !slices.ContainsFunc(e.Items, func(it ItemRow) bool {
		i, ours := j.h.Product(it.GoodsID)
		return ours && i == history.Repriced
	}) {
		return
	}
	g, at := &j.h.Goods[history.Repriced], j.times(n)
	price, from := g.Price, at.sent-j.h.PriceTTL-j.h.PriceTTL/20
	if paid == history.ToldRepriced {
		price = j.h.NewPrice()
	}
	switch {
	case at.sent == never, j.h.FormOf(n) == history.Keyless && at.named == never: // it may be another order's row
		return
	case paid == history.ToldAsSent && j.h.PriceTTL == 0:
		return
	case j.inForce(history.Repriced, price, from, at.named):
		return
	}
	const text = "%d, sent at %s, answered at %s; the price changed between %s and %s"
	j.add(PriceInForce, e.Flag, n, g.ID, "a price that was in force between "+j.h.PriceTTL.String()+
		" before the order was sent and its first answer",
		text, price, when(at.sent), when(at.named), when(j.change.sent), when(j.change.done))
}

// when describes a moment.
func when(at time.Duration) string {
	if at == never {
		return "no known time"
	}
	return at.Round(time.Millisecond).String()
}
