package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/judge/books"
	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/verify"
)

// The names of the invariants. Those that the verdict on our own services has, too, have its names.
const (
	NotOversold           = verify.NotOversold
	WithinLimit           = "within-limit"
	OneOrderPerKey        = "one-order-per-key"
	OneAnswerPerKey       = "one-answer-per-key"
	RejectedOnlyWhenShort = verify.RejectedOnlyWhenShort
	StockMatchesOrders    = "stock-matches-orders"
	AcceptedIsKept        = "accepted-is-kept"
	RejectedIsNotSold     = "rejected-is-not-sold"
	CancelledIsNotSold    = "cancelled-is-not-sold"
	Unexplained           = verify.Unexplained
	DeductedOnce          = verify.DeductedOnce
	Settled               = verify.Settled
	KeepsServing          = "keeps-serving"
)

// invariant is one thing that must hold in each phase.
type invariant struct {
	name, says string
	// missing returns the reason why it cannot be judged, mostly a part of the file that is not there; or "".
	missing func(*Evidence) string
	check   func(*Evidence, *finding)
}

var invariants = []invariant{
	{
		NotOversold, "no more pieces are accepted or sold than there were, and no level is below zero",
		nothing, notOversold,
	},
	{WithinLimit, "no buyer has more than the limit", nothing, withinLimit},
	{OneOrderPerKey, "all calls under one key are one order, and no two keys share an order", nothing, oneOrderPerKey},
	{OneAnswerPerKey, "no key is both accepted and rejected", repeats, oneAnswerPerKey},
	{RejectedOnlyWhenShort, "an order is rejected only while the stock can be short", shortness, rejectedOnlyWhenShort},
	{StockMatchesOrders, "the pieces that left the stock are those that the orders hold", stockRows, stockMatchesOrders},
	{AcceptedIsKept, "every accepted order is in the books with its items, once", orderRows, acceptedIsKept},
	{RejectedIsNotSold, "no rejected order is sold", orderRows, rejectedIsNotSold},
	{CancelledIsNotSold, "no cancelled order is sold", cancels, cancelledIsNotSold},
	{Unexplained, "every order in the books belongs to a request", allRows, unexplained},
	{DeductedOnce, "each item of a sold order has one deduction", deductionRows, deductedOnce},
	{Settled, "after the time to settle, each order is sold or void", states, settled},
	{KeepsServing, "the service runs through the phase, and serves an order after it", probes, keepsServing},
}

func nothing(*Evidence) string { return "" }

func repeats(e *Evidence) string {
	for _, o := range e.Orders {
		if len(filter(o.Calls, func(c Call) bool { return c.Kind.orders() })) > 1 {
			return ""
		}
	}
	return "no order was sent twice; the phase repeated does it, with repeats: key"
}

func cancels(e *Evidence) string {
	sure := func(o *Order) bool { _, sure, _ := o.cancelled(); return sure }
	if !slices.ContainsFunc(e.Orders, sure) {
		return "no order was cancelled; the phase cancelled does it, with cancel: in the file"
	}
	return orderRows(e)
}

func shortness(e *Evidence) string {
	switch {
	case e.Reserved:
		return "carts hold pieces before they are ordered, so each order may find the stock short"
	case !slices.ContainsFunc(e.Orders, (*Order).placed):
		return "no order was accepted"
	}
	return ""
}

func stockRows(e *Evidence) string {
	if e.Reread {
		return reread
	}
	has := func(b *books.Books) bool { return b.Levels != nil }
	return e.reads(has, "it needs books.stock, the pieces of each product")
}

func orderRows(e *Evidence) string {
	has := func(b *books.Books) bool { return b.Orders != nil }
	return e.reads(has, "it needs books.orders, a row for each item of an order")
}

func allRows(e *Evidence) string {
	if e.Reread {
		return reread
	}
	return orderRows(e)
}

const reread = "a query was changed after the phase, and reads rows from before it, too"

func deductionRows(e *Evidence) string {
	return e.reads(func(b *books.Books) bool { return b.Deductions != nil },
		"it needs books.deductions, a row for each item that was taken from the stock")
}

func states(e *Evidence) string {
	has := func(b *books.Books) bool { return b.Orders != nil && b.HasState }
	return e.reads(has, "it needs the column state in books.orders")
}

func probes(e *Evidence) string {
	last := e.probe()
	switch {
	case len(e.Deaths) > 0, last != nil && last.end() != shop.Unknown:
		return ""
	case last == nil:
		return "no order was sent after the phase"
	case !e.Serves:
		return "no order after an earlier phase was served"
	case !last.unserved():
		return "the order after the phase was not answered as one under answers"
	}
	return ""
}

// reads returns "" if the books have a part and can be understood, else the reason why not.
func (e *Evidence) reads(has func(*books.Books) bool, part string) string {
	switch {
	case e.After == nil || !has(e.After):
		return part
	case e.blind:
		return "it needs books that change when an order is placed"
	case e.mixed:
		return "it needs the column state in books.orders, as cancelled orders stay there"
	case len(e.unlisted) > 0:
		return "it needs the state of each order under books.sold or books.void"
	}
	return ""
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

// add adds a violation: o, if not nil, is the order, and rows, if not nil, returns its rows in the books.
func (f *finding) add(o *Order, rows func() []string, format string, args ...any) {
	f.Count++
	if len(f.Examples) == samples {
		return
	}
	example := Example{Text: fmt.Sprintf(format, args...)}
	if rows != nil {
		example.Rows = rows()
	}
	if o != nil {
		example.Key, example.Basket, example.Calls = o.Key, o.basket(), withoutAnswers(o.Calls)
	}
	f.Examples = append(f.Examples, example)
}

// example returns the order that find finds for a product, while examples are kept: a search takes as long as there are
// orders.
func (f *finding) example(find func(product string) *Order, product string) *Order {
	if len(f.Examples) == samples {
		return nil
	}
	return find(product)
}

// notOversold says each product once: the answers, the books and the level show the same fact.
func notOversold(e *Evidence, f *finding) {
	for _, product := range e.products() {
		stock, of := e.Stock[product], e.of(product)
		switch accepted, held := of.ordered[shop.Accepted], of.held[sold]; {
		case accepted > stock:
			f.add(f.example(e.over, product), nil, "%s pieces of product %s were accepted, and there were %s%s",
				accepted, product, stock, e.later(product))
		case held > stock && !e.mixed:
			one, _, _ := e.cancels(product)
			f.add(cmp.Or(one, of.last), nil,
				"the books have %s pieces of product %s in sold orders, and there were %s", held, product, stock)
		case len(of.below) > 0:
			f.add(of.last, nil, "the stock of product %s is %s", product, of.below[0])
		}
	}
}

// later says how many of the accepted pieces are of orders after the phase, which no other figure counts.
func (e *Evidence) later(product string) string {
	pieces := e.of(product).later
	if pieces == 0 {
		return ""
	}
	return fmt.Sprintf("; %s of them ordered after the phase", pieces)
}

// over returns the order with whose answer more pieces of a product were accepted than there were; or, if cancels were
// sent before, an order whose cancel may have given back too much.
func (e *Evidence) over(product string) *Order {
	type acceptance struct {
		at     time.Duration
		pieces shop.Pieces
		order  *Order
	}
	var all []acceptance
	one, _, from := e.cancels(product)
	for _, o := range e.Orders {
		i := slices.IndexFunc(o.Calls, func(c Call) bool { return c.Means == shop.Accepted })
		if i < 0 || o.holds() != shop.Accepted {
			continue
		}
		for _, it := range o.Basket {
			if it.Product == product {
				all = append(all, acceptance{o.Calls[i].Done, it.Pieces, o})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b acceptance) int { return cmp.Compare(a.at, b.at) })
	sum := shop.Pieces(0)
	for _, a := range all {
		if sum += a.pieces; sum > e.Stock[product] && one != nil && a.at > from {
			return one
		} else if sum > e.Stock[product] {
			return a.order
		}
	}
	return nil
}

// own is a call, and its order.
type own struct {
	Call
	order *Order
}

// met returns the first two calls that overlapped each other, or else the first one.
func met(calls []own) (a, b own) {
	slices.SortStableFunc(calls, func(a, b own) int { return cmp.Compare(a.Sent, b.Sent) })
	for i := 1; i < len(calls); i++ {
		if calls[i].Sent < calls[i-1].Done {
			return calls[i-1], calls[i]
		}
	}
	if len(calls) > 0 {
		a = calls[0]
	}
	return a, own{}
}

// cancels returns orders for a product whose cancels may have given back too much or too little, and when the first
// cancel was sent: an order that is sold all the same, or one that was cancelled twice, at the same moment if there is
// one, or two whose cancels met, the later one first; or the first that was cancelled, or nil.
func (e *Evidence) cancels(product string) (one, other *Order, from time.Duration) {
	var all []own
	var resold, twice *Order
	isSold := map[*Order]bool{}
	for _, en := range e.added {
		isSold[en.order] = isSold[en.order] || en.has[sold]
	}
	for _, o := range e.Orders {
		var calls []own
		for _, c := range o.Calls {
			if c.Kind == Cancel && c.Means == shop.Cancelled && o.has(product) {
				calls = append(calls, own{c, o})
			}
		}
		if len(calls) > 1 {
			if _, b := met(calls); b.order != nil {
				one = cmp.Or(one, o)
			}
			twice = cmp.Or(twice, o)
		}
		if len(calls) > 0 && isSold[o] {
			resold = cmp.Or(resold, o)
		}
		all = append(all, calls...)
	}
	a, b := met(all)
	for _, c := range all {
		if from == 0 || c.Sent < from {
			from = c.Sent
		}
	}
	switch one = cmp.Or(one, twice); {
	case resold != nil:
		return resold, nil, from
	case one != nil:
		return one, one, from
	case b.order != nil:
		return b.order, a.order, from
	}
	return a.order, nil, from
}

func withinLimit(e *Evidence, f *finding) {
	held, rows := e.heldBySure()
	if e.mixed { // nobody knows which are sold
		clear(held)
	}
	for _, buyer := range slices.Sorted(maps.Keys(e.byBuyer)) {
		var accepted shop.Pieces
		var last *Order
		var ids []string
		for _, o := range e.byBuyer[buyer] {
			if o.holds() == shop.Accepted {
				accepted, last = accepted+o.pieces(), o
				ids = append(ids, o.ids(shop.Accepted)...)
			}
		}
		switch {
		case accepted > e.Limit:
			f.add(last, e.rows(ids), "buyer %d has %s in the orders %s, and may have %s", buyer, accepted,
				strings.Join(ids, " and "), e.Limit)
		case held[buyer] > e.Limit:
			last := rows[buyer][len(rows[buyer])-1].order
			f.add(last, linesOf(rows[buyer]), "the books have %s in sold orders of buyer %d, who may have %s",
				held[buyer], buyer, e.Limit)
		}
	}
	switch {
	case e.mixed: // some of the rows are cancelled
	case e.After != nil && e.After.HasBuyers:
		withinLimitByColumn(e, f)
	default:
		withinLimitOfLost(e, f, held)
	}
}

// heldBySure returns the sold pieces in the books of each buyer, of the entries whose orders are known.
func (e *Evidence) heldBySure() (held map[int]shop.Pieces, entries map[int][]*entry) {
	held, entries = map[int]shop.Pieces{}, map[int][]*entry{}
	for _, en := range e.added {
		if en.order != nil && en.has[sold] {
			held[en.order.Buyer] += en.soldPieces()
			entries[en.order.Buyer] = append(entries[en.order.Buyer], en)
		}
	}
	return held, entries
}

// soldPieces adds up the sold pieces of all products.
func (en *entry) soldPieces() (sum shop.Pieces) {
	for _, it := range en.items {
		sum += it.pieces[sold]
	}
	return sum
}

// withinLimitByColumn adds up the sold orders by the buyers that the books name.
func withinLimitByColumn(e *Evidence, f *finding) {
	held, entries := map[string]shop.Pieces{}, map[string][]*entry{}
	for _, en := range e.added {
		if buyer := en.rows[0].Buyer; buyer != "" && en.has[sold] {
			held[buyer] += en.soldPieces()
			entries[buyer] = append(entries[buyer], en)
		}
	}
	for _, buyer := range slices.Sorted(maps.Keys(held)) {
		if held[buyer] > e.Limit {
			last := entries[buyer][len(entries[buyer])-1].order
			f.add(last, linesOf(entries[buyer]), "the books have %s in sold orders of the buyer %s there, who may have %s",
				held[buyer], buyer, e.Limit)
		}
	}
}

// withinLimitOfLost looks at the sold entries that are of orders whose answers were lost, nobody knows which: there is
// a violation only if the buyers of all those orders together may not have so many.
func withinLimitOfLost(e *Evidence, f *finding, held map[int]shop.Pieces) {
	found := map[string][]*entry{} // by basket
	for _, en := range e.added {
		if en.guess != nil && en.has[sold] && !en.has[void] && !en.has[open] {
			found[en.basket()] = append(found[en.basket()], en)
		}
	}
	for _, basket := range slices.Sorted(maps.Keys(found)) {
		lost, may := map[int]int{}, 0 // orders: of each buyer, and that they may have
		for _, o := range e.lost[basket] {
			lost[o.Buyer]++
			if held[o.Buyer]+shop.Pieces(lost[o.Buyer])*o.pieces() <= e.Limit {
				may++
			}
		}
		if n := len(found[basket]); n > may {
			f.add(nil, linesOf(found[basket]), "the books have %d sold orders for %s whose answers were lost, and the "+
				"buyers of the lost answers may have %d more in all", n, basket, may)
		}
	}
}

// linesOf returns a function that returns the rows of entries.
func linesOf(entries []*entry) func() []string {
	return func() (lines []string) {
		for _, en := range entries {
			lines = append(lines, en.lines()...)
		}
		return lines
	}
}

// limited reports whether an order may have been rejected since the buyer has others.
func (e *Evidence) limited(o *Order, until time.Duration) bool {
	if e.Limit == 0 {
		return false
	}
	pieces := o.pieces()
	for _, other := range e.byBuyer[o.Buyer] {
		if other != o && other.reached() && other.sent() <= until && other.rejectedBy() >= o.sent() {
			pieces += other.pieces()
		}
	}
	return pieces > e.Limit
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
		entries := e.under[o]
		if len(entries) > 1 && len(o.ids(shop.Accepted, shop.Pending)) < 2 { // else it is said already
			f.add(o, linesOf(entries), "the books have %d orders under the key %s", len(entries), o.Key)
		}
	}
}

// rows returns a function that returns the rows of orders.
func (e *Evidence) rows(ids []string) func() []string {
	return func() (lines []string) {
		for _, id := range ids {
			if en := e.byID[id]; en != nil {
				lines = append(lines, en.lines()...)
			} else if e.After != nil && e.After.Orders != nil {
				lines = append(lines, "order "+id+" is not in the books")
			}
		}
		return lines
	}
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
	taken, returned := e.holdings()
	for _, o := range e.Orders {
		i := slices.IndexFunc(o.Calls, func(c Call) bool { return c.Means == shop.Rejected })
		if i < 0 || o.any(shop.Accepted) || o.Calls[i].Kind == Buyer || e.unpaid(o) || e.limited(o, o.Calls[i].Done) {
			continue
		}
		from, to := o.sent(), o.Calls[i].Done
		left := func(it Item) shop.Pieces {
			left := e.Stock[it.Product] - taken[it.Product].until(to-1) + returned[it.Product].until(from)
			if o.reached() && from < to { // the order itself may not be in its way
				left += it.Pieces * o.times()
			}
			if o.reached() && o.rejectedBy() <= from {
				left -= it.Pieces * o.times()
			}
			return left
		}
		if !slices.ContainsFunc(o.Basket, func(it Item) bool { return left(it) < it.Pieces }) {
			cancels := ""
			if len(f.Examples) < samples {
				cancels = e.cancelledBefore(from, o.Basket[0].Product)
			}
			f.add(o, nil, "key %s (%s) was rejected while at least %s of product %s were there%s",
				o.Key, o.basket(), left(o.Basket[0]), o.Basket[0].Product, cancels)
		}
	}
}

// cancelledBefore says which cancels before a time may not have given back the pieces of a product, or returns "".
func (e *Evidence) cancelledBefore(at time.Duration, product string) string {
	switch one, other, from := e.cancels(product); {
	case one == nil || from >= at:
		return ""
	case other == one:
		return fmt.Sprintf("; before it, key %s was cancelled twice", one.Key)
	case other != nil:
		return fmt.Sprintf("; before it, the cancels of the keys %s and %s met", other.Key, one.Key)
	default:
		return fmt.Sprintf("; before it, key %s was cancelled", one.Key)
	}
}

// holdings returns, by product, the pieces that orders may hold from the time when they were sent, and the pieces that
// they hold no longer, as they were rejected.
func (e *Evidence) holdings() (taken, returned map[string]timeline) {
	taken, returned = map[string]timeline{}, map[string]timeline{}
	for _, o := range e.Orders {
		if !o.reached() {
			continue
		}
		for _, it := range o.Basket {
			pieces := it.Pieces * o.times()
			taken[it.Product] = append(taken[it.Product], moment{o.sent(), pieces})
			if e.unpaid(o) {
				returned[it.Product] = append(returned[it.Product], moment{o.rejectedBy() + e.Settle, pieces})
			} else if o.end() == shop.Rejected {
				returned[it.Product] = append(returned[it.Product], moment{o.rejectedBy(), pieces})
			} else if at, sure, _ := o.cancelled(); sure {
				returned[it.Product] = append(returned[it.Product], moment{at + e.Settle, pieces})
			}
		}
	}
	for _, lines := range []map[string]timeline{taken, returned} {
		for _, line := range lines {
			line.addUp()
		}
	}
	return taken, returned
}

// moment is a time, and the pieces that were taken or returned until then.
type moment struct {
	at     time.Duration
	pieces shop.Pieces
}

// timeline holds moments in the order of time.
type timeline []moment

// addUp sorts moments with the pieces of one order each, and makes each have the pieces of all before it, too.
func (t timeline) addUp() {
	slices.SortFunc(t, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	for i := 1; i < len(t); i++ {
		t[i].pieces += t[i-1].pieces
	}
}

// until returns the pieces until a time, including it.
func (t timeline) until(at time.Duration) shop.Pieces {
	i, _ := slices.BinarySearchFunc(t, at+1, func(m moment, at time.Duration) int { return cmp.Compare(m.at, at) })
	if i == 0 {
		return 0
	}
	return t[i-1].pieces
}

func stockMatchesOrders(e *Evidence, f *finding) {
	for _, product := range e.products() {
		of := e.of(product)
		left := of.before - of.after
		if e.After.Orders == nil {
			least := e.sum(product, shop.Accepted)
			most := e.sum(product, shop.Accepted, shop.Pending, shop.Unknown)
			if left < least || left > most {
				f.add(f.example(e.suspect, product), nil,
					"%s pieces of product %s left the stock (%s → %s), and %s were accepted",
					left, product, of.before, of.after, least)
			}
			continue
		}
		// An order that has not ended may have taken its pieces or not.
		if left < of.held[sold] || left > of.held[sold]+of.held[open] {
			held := of.held[sold].String()
			if of.held[open] > 0 {
				held = fmt.Sprintf("%s sold + %s pending = %s", held, of.held[open], of.held[sold]+of.held[open])
			}
			f.add(f.example(e.suspect, product), nil,
				"%s pieces of product %s left the stock (%s → %s), and the orders hold %s",
				left, product, of.before, of.after, held)
		}
	}
}

// suspect returns an order that may be the reason why the stock of a product is wrong: one that was cancelled, one
// whose answer did not come, the first accepted one that met another one, or else the one that was sent last; nil if
// there is none.
func (e *Evidence) suspect(product string) *Order {
	if one, _, _ := e.cancels(product); one != nil {
		return one
	}
	var first []own // of the accepted orders
	for _, o := range e.Orders {
		if !o.has(product) {
			continue
		}
		if slices.ContainsFunc(o.Calls, func(c Call) bool { return c.Failure != "" && !c.Unsent }) {
			return o
		}
		i := slices.IndexFunc(o.Calls, func(c Call) bool { return c.Kind.orders() && c.Order != "" })
		if i >= 0 && o.holds() == shop.Accepted {
			first = append(first, own{o.Calls[i], o})
		}
	}
	if _, b := met(first); b.order != nil {
		return b.order
	}
	return e.of(product).last
}

func acceptedIsKept(e *Evidence, f *finding) {
	for _, o := range e.Orders {
		for _, id := range o.ids(shop.Accepted, shop.Pending) {
			en, accepted := e.byID[id], slices.Contains(o.ids(shop.Accepted), id)
			_, _, cancelled := o.cancelled()
			switch {
			case cancelled && (en == nil || en.void()), o.Halted != "" && en != nil && en.void():
			case en == nil && accepted:
				f.add(o, nil, "order %s was accepted, and is not in the books", id)
			case en == nil:
				f.add(o, nil, "order %s was answered as pending, and is not in the books", id)
			case accepted && en.void():
				f.add(o, en.lines, "order %s was accepted, and is void in the books", id)
			case !en.void() && !en.holds(o):
				f.add(o, en.lines, "order %s is for %s, and the books have other items", id, o.basket())
			}
		}
	}
}

// holds reports whether the entry has the items of the order, each once.
func (en *entry) holds(o *Order) bool {
	for _, it := range o.Basket {
		if pieces := en.items[it.Product].pieces; pieces[sold]+pieces[open] != it.Pieces {
			return false
		}
	}
	return len(en.items) == len(o.Basket) // and no others
}

func rejectedIsNotSold(e *Evidence, f *finding) {
	for _, en := range e.added {
		if o := en.order; o != nil && o.end() == shop.Rejected && en.has[sold] {
			f.add(o, en.lines, "key %s was rejected, and order %s is sold", o.Key, en.id)
		}
	}
}

func cancelledIsNotSold(e *Evidence, f *finding) {
	for _, en := range e.added {
		if en.order == nil || !en.has[sold] {
			continue
		}
		if _, sure, _ := en.order.cancelled(); sure && en.order.placed() {
			f.add(en.order, en.lines, "order %s was cancelled, and is sold", en.id)
		}
	}
}

func unexplained(e *Evidence, f *finding) {
	for _, en := range e.added {
		if en.order == nil && en.guess == nil && (!en.void() || en.key != "") {
			f.add(nil, en.lines, "order %s belongs to no request of the run that was not rejected", en.id)
		}
	}
}

func deductedOnce(e *Evidence, f *finding) {
	type place struct{ id, product string }
	rows := map[place][]books.Row{}
	old := map[books.Row]int{}
	for _, row := range e.Before.Deductions {
		old[row]++
	}
	for _, row := range e.After.Deductions {
		if old[row]--; old[row] < 0 {
			at := place{row.ID, row.Product}
			rows[at] = append(rows[at], row)
		}
	}
	for _, en := range e.added {
		for _, product := range slices.Sorted(maps.Keys(en.items)) {
			want, found := en.items[product].pieces[sold], rows[place{en.id, product}]
			if en.items[product].sold && (len(found) != 1 || max(found[0].Pieces, -found[0].Pieces) != want) {
				f.add(en.order, func() []string { return append(en.lines(), deductionLines(found)...) },
					"order %s, product %s: want one deduction of %s, found %d", en.id, product, want, len(found))
			}
		}
	}
	for at, found := range rows {
		if o := e.idOwner[at.id]; o != nil {
			if _, _, cancelled := o.cancelled(); cancelled { // its row may be gone
				continue
			}
		}
		en := e.byID[at.id]
		if en == nil {
			f.add(e.idOwner[at.id], func() []string { return deductionLines(found) },
				"a deduction for order %q, which is not in the books", at.id)
			continue
		}
		if _, has := en.items[at.product]; !has && en.has[sold] {
			f.add(en.order, func() []string { return append(en.lines(), deductionLines(found)...) },
				"a deduction of product %s for order %s, which has no such item", at.product, at.id)
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
		if o := cmp.Or(en.order, en.guess); en.has[open] && (o == nil || o.Halted == "") {
			f.add(en.order, en.lines, "order %s is neither sold nor void", en.id)
		}
	}
}

func keepsServing(e *Evidence, f *finding) {
	for _, d := range e.Deaths {
		f.add(nil, nil, "%s", d.Text)
		if n := len(f.Examples); n == f.Count {
			f.Examples[n-1].Output = d.Output
		}
	}
	if last := e.probe(); len(e.Deaths) == 0 && last.end() == shop.Unknown {
		f.add(last, nil, "the service does not serve any more: an order that was sent alone, after the phase, was not served")
	}
}
