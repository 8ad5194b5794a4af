package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"orderstock/loadtest/judge/books"
	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/verify"
)

// The names of the invariants. Those that the verdict on our own services has, too, have its names.
const (
	NotOversold           = verify.NotOversold
	OneOrderPerKey        = "one-order-per-key"
	OneAnswerPerKey       = "one-answer-per-key"
	RejectedOnlyWhenShort = verify.RejectedOnlyWhenShort
	StockMatchesOrders    = "stock-matches-orders"
	AcceptedIsKept        = "accepted-is-kept"
	RejectedIsNotSold     = "rejected-is-not-sold"
	Unexplained           = verify.Unexplained
	DeductedOnce          = verify.DeductedOnce
	Settled               = verify.Settled
)

// invariant is one thing that must hold in each phase.
type invariant struct {
	name, says string
	// books: it needs the books.
	books bool
	check func(*Evidence, *finding)
}

var invariants = []invariant{
	{NotOversold, "no more pieces are accepted or sold than there were, and no level is below zero", false, notOversold},
	{OneOrderPerKey, "all calls under one key are one order, and no two keys share an order", false, oneOrderPerKey},
	{OneAnswerPerKey, "no key is both accepted and rejected", false, oneAnswerPerKey},
	{RejectedOnlyWhenShort, "an order is rejected only while the stock can be short", false, rejectedOnlyWhenShort},
	{StockMatchesOrders, "the pieces that left the stock are those that the orders hold", true, stockMatchesOrders},
	{AcceptedIsKept, "every accepted order is in the books with its items, once", true, acceptedIsKept},
	{RejectedIsNotSold, "no rejected order is sold", true, rejectedIsNotSold},
	{Unexplained, "every order in the books belongs to a request", true, unexplained},
	{DeductedOnce, "each item of a sold order has one deduction", true, deductedOnce},
	{Settled, "after the time to settle, each order is sold or void", true, settled},
}

// Says returns the description of an invariant.
func Says(name string) string {
	for _, i := range invariants {
		if i.name == name {
			return i.says
		}
	}
	return ""
}

// Invariants returns the names of all invariants.
func Invariants() (names []string) {
	for _, i := range invariants {
		names = append(names, i.name)
	}
	return names
}

// finding collects the violations of one invariant.
type finding struct{ Violation }

// samples is how many examples of a violation are kept.
const samples = 5

// add adds a violation: o, if not nil, is the order, and rows are what the books have.
func (f *finding) add(o *Order, rows []string, format string, args ...any) {
	f.Count++
	if len(f.Examples) == samples {
		return
	}
	example := Example{Text: fmt.Sprintf(format, args...), Rows: rows}
	if o != nil {
		example.Key, example.Calls = o.Key, o.Calls
	}
	f.Examples = append(f.Examples, example)
}

func notOversold(e *Evidence, f *finding) {
	for _, product := range e.products() {
		stock := e.Stock[product]
		if accepted := e.sum(product, shop.Accepted); accepted > stock {
			f.add(e.last(product), nil, "%s pieces of product %s were accepted, and there were %s", accepted, product, stock)
		}
		if e.After == nil {
			continue
		}
		var held shop.Pieces
		for _, en := range e.added {
			held += e.pieces(en, product, sold)
		}
		if held > stock {
			f.add(nil, nil, "the books have %s pieces of product %s in sold orders, and there were %s", held, product, stock)
		}
		for _, level := range e.After.Levels {
			if level.Product == product && level.Pieces < 0 {
				f.add(nil, nil, "the stock of product %s is %s", product, level.Pieces)
			}
		}
	}
}

// last returns the last accepted order of a product.
func (e *Evidence) last(product string) (last *Order) {
	for _, o := range e.Orders {
		if o.end() == shop.Accepted && o.pieces(product) > 0 && (last == nil || o.sent() > last.sent()) {
			last = o
		}
	}
	return last
}

func oneOrderPerKey(e *Evidence, f *finding) {
	for _, o := range e.Orders {
		ids := o.ids(shop.Accepted, shop.Pending)
		if len(ids) > 1 {
			f.add(o, e.rows(ids), "key %s was answered with the orders %s", o.Key, strings.Join(ids, " and "))
		}
		for _, id := range ids {
			if owner := e.idOwner[id]; owner != o {
				f.add(o, e.rows(ids), "order %s was the answer to the keys %s and %s", id, owner.Key, o.Key)
			}
		}
	}
	for _, o := range e.Orders {
		var rows []string
		n := 0
		for _, en := range e.added {
			if en.key != "" && en.order == o && !e.voided(en) {
				n++
				rows = append(rows, en.lines()...)
			}
		}
		if n > 1 && len(o.ids(shop.Accepted, shop.Pending)) < 2 { // else it is said already
			f.add(o, rows, "the books have %d orders under the key %s", n, o.Key)
		}
	}
}

// voided reports whether all rows of an entry are void.
func (e *Evidence) voided(en *entry) bool { return !e.has(en, sold) && !e.has(en, open) }

// rows returns the rows of orders.
func (e *Evidence) rows(ids []string) (lines []string) {
	for _, id := range ids {
		if en := e.byID[id]; en != nil {
			lines = append(lines, en.lines()...)
		} else if e.After != nil && e.After.Orders != nil {
			lines = append(lines, "order "+id+" is not in the books")
		}
	}
	return lines
}

func oneAnswerPerKey(e *Evidence, f *finding) {
	for _, o := range e.Orders {
		if o.any(shop.Accepted) && o.any(shop.Rejected) {
			f.add(o, e.rows(o.ids(shop.Accepted)), "key %s was accepted and rejected", o.Key)
		}
	}
}

// rejectedOnlyWhenShort allows each rejection for which the stock can have been short at a moment of the call: all
// orders sent before its end may hold their pieces, unless they were rejected before its begin.
func rejectedOnlyWhenShort(e *Evidence, f *finding) {
	if e.Reserved {
		return
	}
	for _, o := range e.Orders {
		i := slices.IndexFunc(o.Calls, func(c Call) bool { return c.Means == shop.Rejected })
		if i < 0 || o.any(shop.Accepted) || o.Calls[i].Kind == Buyer {
			continue
		}
		from, to, left := o.sent(), o.Calls[i].Done, map[string]shop.Pieces{}
		maps.Copy(left, e.Stock)
		for _, other := range e.Orders {
			if other == o || !other.reached() || other.sent() >= to {
				continue
			}
			if other.end() == shop.Rejected && other.done() <= from {
				continue
			}
			orders := max(1, len(other.ids(shop.Accepted, shop.Pending))) // more than one is a violation itself
			for _, it := range other.Basket {
				left[it.Product] -= it.Pieces * shop.Pieces(orders)
			}
		}
		if !slices.ContainsFunc(o.Basket, func(it Item) bool { return left[it.Product] < it.Pieces }) {
			f.add(o, nil, "key %s (%s) was rejected while at least %s of product %s were there",
				o.Key, o.basket(), left[o.Basket[0].Product], o.Basket[0].Product)
		}
	}
}

func stockMatchesOrders(e *Evidence, f *finding) {
	if e.After.Levels == nil {
		return
	}
	for _, product := range e.products() {
		before, _ := e.Before.Level(product)
		after, _ := e.After.Level(product)
		left := before - after
		if e.After.Orders == nil {
			least := e.sum(product, shop.Accepted)
			most := e.sum(product, shop.Accepted, shop.Pending, shop.Unknown)
			if left < least || left > most {
				f.add(nil, nil, "%s pieces of product %s left the stock (%s → %s), and %s were accepted",
					left, product, before, after, least)
			}
			continue
		}
		var held, perhaps shop.Pieces // an order that has not ended may have taken its pieces or not
		for _, en := range e.added {
			held += e.pieces(en, product, sold)
			perhaps += e.pieces(en, product, open)
		}
		if left < held || left > held+perhaps {
			f.add(nil, nil, "%s pieces of product %s left the stock (%s → %s), and the orders hold %s",
				left, product, before, after, held)
		}
	}
}

func acceptedIsKept(e *Evidence, f *finding) {
	if e.After.Orders == nil {
		return
	}
	for _, o := range e.Orders {
		for _, id := range o.ids(shop.Accepted, shop.Pending) {
			en, accepted := e.byID[id], slices.Contains(o.ids(shop.Accepted), id)
			switch {
			case en == nil:
				f.add(o, nil, "order %s was acknowledged, and is not in the books", id)
			case accepted && e.voided(en):
				f.add(o, en.lines(), "order %s was accepted, and is void in the books", id)
			case !e.voided(en) && !e.holds(en, o):
				f.add(o, en.lines(), "order %s is for %s, and the books have other items", id, o.basket())
			}
		}
	}
}

// holds reports whether an entry has the items of the order, each once.
func (e *Evidence) holds(en *entry, o *Order) bool {
	for _, row := range en.rows {
		if o.pieces(row.Product) == 0 && (row.Pieces != 0 || row.Product != "") {
			return false
		}
	}
	return !slices.ContainsFunc(o.Basket, func(it Item) bool {
		return e.pieces(en, it.Product, sold, open) != it.Pieces
	})
}

func rejectedIsNotSold(e *Evidence, f *finding) {
	for _, en := range e.added {
		if o := en.order; o != nil && o.end() == shop.Rejected && e.has(en, sold) {
			f.add(o, en.lines(), "key %s was rejected, and order %s is sold", o.Key, en.id)
		}
	}
}

func unexplained(e *Evidence, f *finding) {
	for _, en := range e.added {
		if en.order == nil && (!e.voided(en) || en.key != "") {
			f.add(nil, en.lines(), "order %s belongs to no request of the run that was not rejected", en.id)
		}
	}
}

func deductedOnce(e *Evidence, f *finding) {
	if e.After.Deductions == nil {
		return
	}
	type item struct{ id, product string }
	rows := map[item][]books.Row{}
	old := map[books.Row]int{}
	for _, row := range e.Before.Deductions {
		old[row]++
	}
	for _, row := range e.After.Deductions {
		if old[row]--; old[row] < 0 {
			rows[item{row.ID, row.Product}] = append(rows[item{row.ID, row.Product}], row)
		}
	}
	for _, en := range e.added {
		products := map[string]bool{}
		for _, row := range en.rows {
			if e.class(row.State) != sold || products[row.Product] {
				continue
			}
			products[row.Product] = true
			want, found := e.pieces(en, row.Product, sold), rows[item{en.id, row.Product}]
			if len(found) != 1 || max(found[0].Pieces, -found[0].Pieces) != want {
				f.add(en.order, append(en.lines(), deductionLines(found)...),
					"order %s, product %s: want one deduction of %s, found %d", en.id, row.Product, want, len(found))
			}
		}
	}
	for it, found := range rows {
		if e.byID[it.id] == nil {
			f.add(e.idOwner[it.id], deductionLines(found), "a deduction for order %q, which is not in the books", it.id)
		}
	}
}

func deductionLines(rows []books.Row) (lines []string) {
	for _, row := range rows {
		lines = append(lines, "deduction: "+row.String())
	}
	return lines
}

func settled(e *Evidence, f *finding) {
	for _, en := range e.added {
		if e.has(en, open) {
			f.add(en.order, en.lines(), "order %s is neither sold nor void", en.id)
		}
	}
}
