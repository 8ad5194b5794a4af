package judge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

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
	// Unsettled says why the books are not the last word, as that they still changed when the time to settle was over.
	Unsettled []string
	// Reread: the books were read later by other queries. Rows that are of no order of the phase count as older ones.
	Reread bool
	// Vars are the variables of the phase, for its queries.
	Vars shop.Vars
	// Reserved: carts may hold pieces that nobody orders, so any order may find the stock short.
	Reserved bool

	// Deaths are the ends of the service that the judge did not cause.
	Deaths []Death
	// Limit bounds the pieces of one buyer; 0 for no limit.
	Limit shop.Pieces
	// Noun is the word for a product, "" for "product".
	Noun string
	// Unnamed: no request says how many pieces it orders.
	Unnamed bool
	// Kills are the kills of the judge, each until the service served again.
	Kills []Span
	// Pays: a step after the order changes it. An order that was pending before may be rejected by it for another reason
	// than a short stock, as a card that is declined.
	Pays bool
	// Settle is how long the pieces of an order that was cancelled, or not paid, may take to come back.
	Settle time.Duration
	// Serves: an order that was sent after an earlier phase was served, so one after this phase must be, too.
	Serves bool

	added   []*entry            // the orders in the books that were not there before
	byID    map[string]*entry   // the same
	under   map[*Order][]*entry // the same, by the order whose key they have, without void ones
	lost    map[string][]*Order // the orders without a readable answer, by basket
	byKey   map[string]*Order
	idOwner map[string]*Order // by an order id in an answer
	byBuyer map[int][]*Order
	sums    map[string]*sums // by product

	blind    bool     // the books do not change, although orders were accepted
	mixed    bool     // cancelled orders are in the books, and look there like sold ones
	unlisted []string // the states of orders that have no meaning
}

// Span is a time of the phase.
type Span struct{ From, To time.Duration }

// Death is an end of the service by itself.
type Death struct {
	// Text says how it ended, and when; Output is the end of its output.
	Text   string
	Output []string
}

// unpaid reports whether the order was placed, and rejected by a step after it.
func (e *Evidence) unpaid(o *Order) bool {
	return e.Pays && o.end() == shop.Rejected && o.any(shop.Pending)
}

// probe returns the last order that was sent after the phase, or nil.
func (e *Evidence) probe() *Order {
	if n := len(e.Orders); n > 0 && e.Orders[n-1].Probe {
		return e.Orders[n-1]
	}
	return nil
}

// entry is one order in the books.
type entry struct {
	id, key string
	rows    []books.Row
	items   map[string]item // by product
	has     [open + 1]bool  // whether it has a row of the class
	// order is the order of the run that it is, by its key or id, or nil.
	order *Order
	// guess is an order whose answer was lost, if it has no order: it may be that one or another one with its basket, so
	// no violation follows from this one alone.
	guess *Order
}

// item is the part of an entry that is of one product.
type item struct {
	pieces byClass
	sold   bool // it has a row that is sold
}

// sums are the pieces of one product in the orders, their answers and the books.
type sums struct {
	ordered       map[shop.Means]shop.Pieces // by the orders' holdings, without orders that cannot have reached the shop
	later         shop.Pieces                // the part that was accepted of orders after the phase
	last          *Order                     // the accepted one of the phase that was sent last
	held          byClass                    // by the orders that were added to the books
	before, after shop.Pieces                // in stock
	below         []shop.Pieces              // rows of the stock below zero
}

// byClass holds pieces by the class of the state of their rows.
type byClass [open + 1]shop.Pieces

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

// index finds the orders that were added to the books, and whose they are, and adds up. All that compares orders with
// orders looks them up here: the time to judge grows with their number.
func (e *Evidence) index() {
	e.added, e.under, e.sums = nil, map[*Order][]*entry{}, map[string]*sums{}
	e.byID, e.byKey, e.idOwner = map[string]*entry{}, map[string]*Order{}, map[string]*Order{}
	e.byBuyer = map[int][]*Order{}
	for _, o := range e.Orders {
		e.byBuyer[o.Buyer] = append(e.byBuyer[o.Buyer], o)
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
	e.sumUp()
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
			e.byID[row.ID] = &entry{id: row.ID, key: row.Key, items: map[string]item{}}
			e.added = append(e.added, e.byID[row.ID])
		}
		e.byID[row.ID].add(row, e.class(row.State))
	}
	ours := slices.ContainsFunc(e.added, func(en *entry) bool { return e.byKey[en.key] != nil })
	for _, en := range e.added {
		if !ours { // the column holds something else than the keys
			en.key = ""
		}
		if en.order = e.byKey[en.key]; en.key == "" || en.order == nil {
			en.order = e.idOwner[en.id]
		}
		if en.key != "" && en.order != nil && !en.void() {
			e.under[en.order] = append(e.under[en.order], en)
		}
		for product, it := range en.items {
			held := &e.of(product).held
			for c := range held {
				held[c] += it.pieces[c]
			}
		}
	}
	e.explain()
}

// sumUp adds up the pieces that were ordered, and those in stock before and after.
func (e *Evidence) sumUp() {
	for _, o := range e.Orders {
		end := o.holds()
		if end == shop.Unknown && !o.reached() {
			continue
		}
		for _, it := range o.Basket {
			of := e.of(it.Product)
			of.ordered[end] += it.Pieces
			if end == shop.Accepted && o.Probe {
				of.later += it.Pieces
			}
			if end == shop.Accepted && !o.Probe && it.Pieces > 0 && (of.last == nil || o.sent() > of.last.sent()) {
				of.last = o
			}
		}
	}
	if e.After == nil {
		return
	}
	for product, pieces := range e.Before.Stock() {
		e.of(product).before = pieces
	}
	for product, pieces := range e.After.Stock() {
		e.of(product).after = pieces
	}
	for _, level := range e.After.Levels {
		if of := e.of(level.Product); level.Pieces < 0 {
			of.below = append(of.below, level.Pieces)
		}
	}
}

// of returns the sums of a product.
func (e *Evidence) of(product string) *sums {
	if e.sums[product] == nil {
		e.sums[product] = &sums{ordered: map[shop.Means]shop.Pieces{}}
	}
	return e.sums[product]
}

// add adds a row, whose state is of that class.
func (en *entry) add(row books.Row, c class) {
	en.rows = append(en.rows, row)
	en.has[c] = true
	if row.Product == "" && row.Pieces == 0 { // an order without items
		return
	}
	it := en.items[row.Product]
	it.pieces[c] += row.Pieces
	it.sold = it.sold || c == sold
	en.items[row.Product] = it
}

// void reports whether all rows of the entry are void.
func (en *entry) void() bool { return !en.has[sold] && !en.has[open] }

// explain finds an order without a readable answer for each entry that has neither a known id nor a key. A void entry
// needs none: as the cart of a rejected order, it would take the place of an order that is sold. An entry that has not
// ended gets one whose steps could not be done, while there are some.
func (e *Evidence) explain() {
	e.lost = map[string][]*Order{}
	for _, o := range e.Orders {
		if o.reached() && len(o.ids(shop.Accepted, shop.Pending, shop.Rejected)) == 0 && o.end() != shop.Rejected {
			e.lost[o.basket()] = append(e.lost[o.basket()], o)
		}
	}
	waiting := map[string][]*Order{}
	for basket, orders := range e.lost {
		waiting[basket] = slices.SortedStableFunc(slices.Values(orders), func(a, b *Order) int {
			return strings.Compare(b.Halted, a.Halted) // the halted ones first
		})
	}
	for _, ended := range []bool{false, true} {
		for _, en := range e.added {
			if en.order != nil || en.key != "" || en.void() || en.has[open] == ended {
				continue
			}
			basket := en.basket()
			if orders := waiting[basket]; len(orders) > 0 {
				en.guess, waiting[basket] = orders[0], orders[1:]
			}
		}
	}
}

// basket describes the items of an entry like those of an order.
func (en *entry) basket() string {
	o := Order{}
	for _, product := range slices.Sorted(maps.Keys(en.items)) {
		if product != "" {
			pieces := en.items[product].pieces
			o.Basket = append(o.Basket, Item{product, pieces[sold] + pieces[void] + pieces[open]})
		}
	}
	return o.basket()
}

// products returns the products in stock.
func (e *Evidence) products() []string { return slices.Sorted(maps.Keys(e.Stock)) }

// sum returns the pieces of a product in the orders with those ends, without orders that cannot have reached the shop.
func (e *Evidence) sum(product string, ends ...shop.Means) (sum shop.Pieces) {
	for _, end := range ends {
		sum += e.of(product).ordered[end]
	}
	return sum
}

func (en *entry) lines() (lines []string) {
	for _, row := range en.rows {
		lines = append(lines, row.String())
	}
	return lines
}

// miscounted says what to write if no request names its pieces, and each order in the books has the same number of
// them, which is not the judge's; or it returns "".
func (e *Evidence) miscounted() string {
	if !e.Unnamed || e.blind {
		return ""
	}
	text, ours := "", 0
	for _, en := range e.added {
		o := en.order
		if o == nil {
			continue
		}
		if len(o.Basket) != 1 || len(en.items) != 1 {
			return ""
		}
		own := o.Basket[0]
		held := en.items[own.Product].pieces
		there := held[sold] + held[void] + held[open]
		says := fmt.Sprintf("each order in the books is for %s of product %s, and the judge counts %s: if the request "+
			"orders %[1]s, write baskets: [{%[4]q: %[1]s}] under order, and \"{{pieces}}\" in the place of the number",
			there, own.Product, own.Pieces, own.Product)
		if there == 0 || there == own.Pieces || text != "" && text != says {
			return ""
		}
		text = says
		ours++
	}
	if ours < 2 {
		return ""
	}
	return text
}

// moved reports whether the books have changed at all.
func (e *Evidence) moved() bool {
	if len(e.added) > 0 {
		return true
	}
	return slices.ContainsFunc(e.products(), func(p string) bool {
		return e.of(p).before != e.of(p).after
	})
}

// mixes reports whether the books show cancelled orders as sold for want of the column state: all of them are there,
// and the stock does not say that nothing was cancelled.
func (e *Evidence) mixes() bool {
	if e.After == nil || e.After.Orders == nil || e.After.HasState {
		return false
	}
	found := false
	for _, o := range e.Orders {
		if _, sure, _ := o.cancelled(); !sure {
			continue
		}
		for _, id := range o.ids(shop.Accepted, shop.Pending) {
			if e.byID[id] == nil {
				return false
			}
			found = true
		}
	}
	returned := func(p string) bool { return e.of(p).before-e.of(p).after < e.of(p).held[sold] }
	return found && (e.After.Levels == nil || slices.ContainsFunc(e.products(), returned))
}

// awaits reports whether the books may change yet, or must.
func (e *Evidence) awaits() bool {
	return e.blind || e.mixed || len(e.unlisted) > 0 ||
		slices.ContainsFunc(e.added, func(en *entry) bool { return en.has[open] }) ||
		slices.ContainsFunc(e.Orders, func(o *Order) bool {
			return o.reached() && (o.end() == shop.Pending || o.end() == shop.Unknown)
		})
}

// words puts the noun in the place of the word product in a text.
func words(noun, text string) string {
	if noun == "" {
		return text
	}
	return strings.NewReplacer("pieces of product ", "of "+noun+" ", "product ", noun+" ").Replace(text)
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
