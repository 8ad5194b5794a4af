package verify

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
)

// restocked is a restock of the run, by the client's clock: it was done between sent and done. Either is never if no
// call may have done it, or none was answered; the first restock of each product was done before the run, at firstly.
// again is when the second such call was sent: the answer to either may be a repeat's.
type restocked struct {
	operation.Restock
	sent, done time.Duration
	again      time.Duration
	recorded   bool // the books have it
}

const firstly = time.Duration(-1)

// findRestocks finds the products, the first restock of each, in their order, and the ones in the middle of the run.
func (j *judgement) findRestocks() {
	name := j.h.GoodsName()
	for i := range j.h.Goods {
		g := &j.h.Goods[i]
		first := operation.Restock{Flag: j.h.RestockFlag(i), GoodsID: g.ID, Num: g.Stock, Name: &name, Price: &g.Price}
		j.products[i].Goods = *g
		j.restocks = append(j.restocks, &restocked{Restock: first, sent: firstly, done: firstly})
	}
	for i := range j.h.Asides {
		a := &j.h.Asides[i]
		body, ok := j.restockIn(a)
		if !ok || a.Token != "" || a.Op >= 0 || len(badFields(routeOf(a), a.Body)) > 0 {
			continue // it must not work
		}
		r := j.restockUnder([]byte(body.Flag))
		if r == nil {
			r = &restocked{Restock: body, sent: never, done: never, again: never}
			j.restocks = append(j.restocks, r)
		}
		if mayHaveWorked(&history.Call{Failure: a.Failure, Code: a.Code, Problem: a.Problem}) {
			r.again = min(r.again, max(r.sent, a.Sent))
			r.sent = min(r.sent, a.Sent)
		}
		if a.Failure == history.Answered && a.Code == http.StatusOK {
			r.done = min(r.done, a.Done)
		}
	}
	for _, r := range j.later() {
		j.product(r.GoodsID).restore(times{undone: r.sent, cancelled: r.done}, r.Num)
	}
}

// later returns the restocks in the middle of the run.
func (j *judgement) later() []*restocked { return j.restocks[len(j.h.Goods):] }

// restockUnder returns the run's restock under a flag, or nil.
func (j *judgement) restockUnder(flag []byte) *restocked {
	if i := j.h.RestockOf(flag); i >= 0 {
		return j.restocks[i]
	}
	for _, r := range j.later() {
		if r.Flag == string(flag) {
			return r
		}
	}
	return nil
}

// restock judges the entry under the flag of a restock of the run.
func (j *judgement) restock(e *Entry, r *restocked) {
	r.recorded = true
	right := r.sent != never && len(e.Flows) == 1 && len(e.Restocks) == 1 &&
		len(e.Operations)+len(e.Orders)+len(e.Items) == 0
	if right {
		f, row := &e.Flows[0], &e.Restocks[0]
		kept := operation.Restock{Flag: r.Flag, GoodsID: row.Goods, Num: f.Num, Price: row.Price}
		if row.Name != nil {
			name := string(row.Name)
			kept.Name = &name
		}
		right = f.Kind == operation.KindRestock && f.Goods == row.Goods && r.is(kept)
	}
	if !right {
		j.add(Unexplained, e.Flag, -1, r.GoodsID, "a restock that the run sent: "+r.words(), "%s, flows: %s, restocks: %s",
			e.summary(), words(e.Flows), words(e.Restocks))
	}
}

// is reports whether another restock under the flag asks for the same.
func (r *restocked) is(other operation.Restock) bool {
	return r.GoodsID == other.GoodsID && r.Num == other.Num && same(r.Name, other.Name) && same(r.Price, other.Price)
}

func same[T comparable](a, b *T) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

func (r *restocked) words() string {
	text := wordsOf(history.Item{GoodsID: r.GoodsID, Num: r.Num})
	if r.Price != nil {
		text += " at " + strconv.FormatInt(*r.Price, 10)
	}
	return text
}

// mayBePriced and mayBeNamed report whether a product may have had a price, or a name, at some moment of a call.
func (j *judgement) mayBePriced(goods, price int64, from, to time.Duration) bool {
	return mayHave(j, goods, func(r *restocked) *int64 { return r.Price }, price, from, to)
}

func (j *judgement) mayBeNamed(goods int64, name string, from, to time.Duration) bool {
	return mayHave(j, goods, func(r *restocked) *string { return r.Name }, name, from, to)
}

// mayHave reports whether a restock of a product of the run set a field to a value, and no later one had replaced that
// for certain before the call.
func mayHave[T comparable](j *judgement, goods int64, of func(*restocked) *T, value T, from, to time.Duration) bool {
	sets := func(r *restocked) bool { return r.GoodsID == goods && of(r) != nil }
	replaced := func(set time.Duration) bool {
		return slices.ContainsFunc(j.later(), func(r *restocked) bool { return sets(r) && r.sent > set && r.done < from })
	}
	may := func(r *restocked) bool { return sets(r) && *of(r) == value && r.sent < to && !replaced(r.done) }
	i, ours := j.h.Product(goods)
	return ours && (may(j.restocks[i]) || slices.ContainsFunc(j.later(), may))
}

// paidFor reports whether the books have for order n the items that were sent, at prices that the run's products had.
// It sets j.paid to the items of a right answer: the books' items or, if those are wrong, the items that were sent.
func (j *judgement) paidFor(e *Entry, n int) bool {
	items := j.h.Items(n)
	right := len(items) > 0 && len(items) == len(e.Items)
	j.paid = j.paid[:0]
	for i := 0; right && i < len(items); i++ {
		row := &e.Items[i]
		right = row.Item == items[i] && j.mayBePriced(row.GoodsID, row.Price, 0, never)
		j.paid = append(j.paid, history.PricedItem{GoodsID: row.GoodsID, Num: row.Num, Price: row.Price})
	}
	if !right {
		j.paid = j.h.Named(history.ItemsAsSent, history.Place, n)
	}
	return right
}

// price judges the price that an order has of the product whose price changed. The order service read it after the
// order was first sent, or before, but not longer than its time to live, and before any answer named the order. Its
// clock may run a twentieth slower than the client's.
func (j *judgement) price(e *Entry, n int) {
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
		j.mayBePriced(e.Items[at].GoodsID, price, from, t.named) {
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
