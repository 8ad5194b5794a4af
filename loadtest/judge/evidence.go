package judge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"orderstock/loadtest/judge/books"
	"orderstock/loadtest/judge/shop"
)

// Evidence is everything that is known about a phase.
type Evidence struct {
	// Stock is the pieces of each product before the first order.
	Stock  map[string]shop.Pieces
	Orders []*Order
	// Before and After are the books before the first order and when they no longer changed; nil without books.
	Before, After *books.Books
	Sold, Void    []string
	// Passing are states that orders were seen to leave for one that is sold or void.
	Passing map[string]bool
	// Moved: an earlier phase has shown that the queries see the orders of this shop.
	Moved bool
	// Reserved: carts may hold pieces that nobody orders, so any order may find the stock short.
	Reserved bool

	added   []*entry          // the orders in the books that were not there before
	byID    map[string]*entry // the same
	byKey   map[string]*Order
	idOwner map[string]*Order // by an order id in an answer
}

// entry is one order in the books.
type entry struct {
	id, key string
	rows    []books.Row
	// order is the order of the run that explains it, or nil.
	order *Order
}

// class is what a state means.
type class int

const (
	sold class = iota
	void
	open // neither
)

func (e *Evidence) class(state string) class {
	switch {
	case !e.After.HasState, slices.Contains(e.Sold, state):
		return sold
	case slices.Contains(e.Void, state):
		return void
	case state == "" && slices.Contains(e.Sold, shop.Null):
		return sold
	case state == "" && slices.Contains(e.Void, shop.Null):
		return void
	}
	return open
}

// pieces returns how many pieces of a product the entry holds in rows of those classes.
func (e *Evidence) pieces(of *entry, product string, classes ...class) (sum shop.Pieces) {
	for _, row := range of.rows {
		if row.Product == product && slices.Contains(classes, e.class(row.State)) {
			sum += row.Pieces
		}
	}
	return sum
}

// has reports whether the entry has a row of that class.
func (e *Evidence) has(of *entry, c class) bool {
	return slices.ContainsFunc(of.rows, func(r books.Row) bool { return e.class(r.State) == c })
}

// index finds the orders that were added to the books, and whose they are.
func (e *Evidence) index() {
	e.byID, e.byKey, e.idOwner = map[string]*entry{}, map[string]*Order{}, map[string]*Order{}
	for _, o := range e.Orders {
		e.byKey[shop.ID(o.Key)] = o
		if o.UUID != "" {
			e.byKey[shop.ID(o.UUID)] = o
		}
		if o.Number != 0 {
			e.byKey[strconv.FormatInt(o.Number, 10)] = o
		}
		refused := func(c Call) bool { return c.Kind == Buyer && c.Means == shop.Rejected }
		e.Reserved = e.Reserved || slices.ContainsFunc(o.Calls, refused)
		for _, id := range o.ids(shop.Accepted, shop.Pending, shop.Rejected) {
			if e.idOwner[id] == nil {
				e.idOwner[id] = o
			}
		}
	}
	if e.After == nil {
		return
	}
	before := map[string]bool{}
	for _, row := range e.Before.Orders {
		before[row.ID] = true
	}
	for _, row := range e.After.Orders {
		if before[row.ID] {
			continue
		}
		if e.byID[row.ID] == nil {
			e.byID[row.ID] = &entry{id: row.ID, key: row.Key}
			e.added = append(e.added, e.byID[row.ID])
		}
		e.byID[row.ID].rows = append(e.byID[row.ID].rows, row)
	}
	ours := slices.ContainsFunc(e.added, func(en *entry) bool { return e.byKey[en.key] != nil })
	for _, en := range e.added {
		if !ours { // the column holds something else than the keys
			en.key = ""
		}
		if en.order = e.byKey[en.key]; en.key == "" || en.order == nil {
			en.order = e.idOwner[en.id]
		}
	}
	e.explain()
}

// explain finds an order without a readable answer for each entry that has neither a known id nor a key. A void entry
// needs none: as the cart of a rejected order, it would take the place of an order that is sold.
func (e *Evidence) explain() {
	silent := map[string][]*Order{} // by basket
	for _, o := range e.Orders {
		if o.reached() && len(o.ids(shop.Accepted, shop.Pending, shop.Rejected)) == 0 && o.end() != shop.Rejected {
			silent[o.basket()] = append(silent[o.basket()], o)
		}
	}
	for _, en := range e.added {
		if en.order != nil || en.key != "" || e.voided(en) {
			continue
		}
		basket := e.basket(en)
		if waiting := silent[basket]; len(waiting) > 0 {
			en.order, silent[basket] = waiting[0], waiting[1:]
		}
	}
}

// basket describes the items of an entry like those of an order.
func (e *Evidence) basket(en *entry) string {
	sums := map[string]shop.Pieces{}
	for _, row := range en.rows {
		if row.Product != "" {
			sums[row.Product] += row.Pieces
		}
	}
	o := Order{}
	for _, product := range slices.Sorted(maps.Keys(sums)) {
		o.Basket = append(o.Basket, Item{product, sums[product]})
	}
	return o.basket()
}

// products returns the products in stock.
func (e *Evidence) products() []string { return slices.Sorted(maps.Keys(e.Stock)) }

// sum returns the pieces of a product in the orders with those ends, without orders that cannot have reached the shop.
func (e *Evidence) sum(product string, ends ...shop.Means) (sum shop.Pieces) {
	for _, o := range e.Orders {
		if end := o.end(); slices.Contains(ends, end) && (end != shop.Unknown || o.reached()) {
			sum += o.pieces(product)
		}
	}
	return sum
}

func (en *entry) lines() (lines []string) {
	for _, row := range en.rows {
		lines = append(lines, row.String())
	}
	return lines
}

// moved reports whether the books have changed at all.
func (e *Evidence) moved() bool {
	if len(e.added) > 0 {
		return true
	}
	return slices.ContainsFunc(e.products(), func(p string) bool {
		before, _ := e.Before.Level(p)
		after, _ := e.After.Level(p)
		return before != after
	})
}

// counted says how often each text occurs, the most frequent first.
func counted(texts []string, most int) string {
	counts := map[string]int{}
	for _, text := range texts {
		counts[text]++
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	parts := []string{}
	for _, name := range names[:min(most, len(names))] {
		parts = append(parts, fmt.Sprintf("%d× %s", counts[name], name))
	}
	return strings.Join(parts, "; ")
}
