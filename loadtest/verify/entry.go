package verify

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
)

// entry judges everything under one flag, if it concerns the run: its keys, its flags or its products.
func (j *judgement) entry(e *Entry) {
	n, restock := j.orderOf(e), j.restockUnder(e.Flag)
	if len(e.Orders) > 0 {
		j.inBooks(e.Orders[0].ID)
	}
	garbled := j.splitItems(e)
	if n < 0 && restock == nil && j.touched(e) == 0 && !j.underOurKey(e) {
		return
	}
	j.sumUp(e, n)
	j.once(e, n)
	j.complete(e, n, garbled)
	foreign := false
	switch {
	case restock != nil:
		j.restock(e, restock)
	case n >= 0 && !j.seen[n]:
		j.seen[n] = true
		j.ours(e, n)
	case j.isDeclared(e):
	case n < 0 && j.mayBeOthers(e):
		foreign = true
		j.foreign(e)
	default:
		j.unexplained(e.Flag, n, j.touched(e), e.summary(), j.deductRows())
	}
	if !e.Pruned || len(e.Orders) > 0 {
		j.matches(e, n, foreign)
	}
}

// unexplained reports rows without a request of the run, among them deduct rows of the run's products.
func (j *judgement) unexplained(flag []byte, n int, product int64, summary string, deducts int64) {
	j.add(Unexplained, flag, n, product, "no rows without a request of the run", "%s", summary)
	j.v.DoubleDeducted += deducts
}

// orderOf returns the run's order number for an entry, found by its key or, on PathDeduct, by its flag. It returns -1
// if the entry is none of the run's.
func (j *judgement) orderOf(e *Entry) int {
	switch {
	case j.h.Path == history.PathDeduct:
		return j.h.OrderOf(e.Flag)
	case len(e.Orders) == 0:
	case e.Orders[0].Key != nil:
		return j.h.OrderOf(e.Orders[0].Key)
	default:
		return j.withoutKey(e)
	}
	return -1
}

// findKeyless finds the orders of the run that were sent without a key.
func (j *judgement) findKeyless() {
	for n := range j.h.Orders() {
		if j.h.FormOf(n) != history.Keyless {
			continue
		}
		hash, id := history.BodyHash(j.h.Items(n)), int64(0)
		j.bodies[string(hash[:])] = true
		for _, i := range j.callsOf(n) {
			id = max(id, j.h.Calls[i].Order)
		}
		if id != 0 {
			j.unkeyed[id] = n
		} else {
			j.unnamed = append(j.unnamed, n)
		}
	}
}

// withoutKey returns the run's order number for an order without a key, by its id or, if no answer named that, by its
// items; or -1.
func (j *judgement) withoutKey(e *Entry) int {
	if n, known := j.unkeyed[e.Orders[0].ID]; known {
		return n
	}
	at := slices.IndexFunc(j.unnamed, func(n int) bool {
		same := func(a ItemRow, b history.Item) bool { return a.Item == b }
		return !j.seen[n] && slices.EqualFunc(e.Items, j.h.Items(n), same)
	})
	if at < 0 {
		return -1
	}
	return j.unnamed[at]
}

// underOurKey reports whether an order's key begins like those of the run, in any case, or it has none, and the body of
// an order that the run sent without one.
func (j *judgement) underOurKey(e *Entry) bool {
	if len(e.Orders) == 0 {
		return false
	}
	o := &e.Orders[0]
	return j.h.IsRuns(o.Key) || o.Key == nil && j.bodies[string(o.BodyHash)]
}

// direct reports whether an entry is a deduction without an order, or a restock.
func (j *judgement) direct(e *Entry) bool {
	return bytes.HasPrefix(e.Flag, []byte(history.DirectPrefix)) ||
		len(e.Operations) == 0 && !slices.ContainsFunc(e.Flows, FlowRow.ofOrder)
}

// touched returns the first product of the run that an entry concerns, or 0.
func (j *judgement) touched(e *Entry) int64 {
	for _, r := range e.Flows {
		if j.product(r.Goods) != nil {
			return r.Goods
		}
	}
	for _, r := range e.Items {
		if j.product(r.GoodsID) != nil {
			return r.GoodsID
		}
	}
	for _, r := range e.Restocks {
		if j.product(r.Goods) != nil {
			return r.Goods
		}
	}
	for _, it := range j.op {
		if j.product(it.GoodsID) != nil {
			return it.GoodsID
		}
	}
	return 0
}

func (j *judgement) isDeclared(e *Entry) bool {
	return j.declared[string(e.Flag)] || len(e.Orders) > 0 && j.declared[string(e.Orders[0].Key)]
}

// splitItems parses the items of the operation, and sorts the flow rows by kind, with positive numbers if their signs
// are right.
func (j *judgement) splitItems(e *Entry) (garbled bool) {
	j.op, j.deducts, j.restores = j.op[:0], j.deducts[:0], j.restores[:0]
	if len(e.Operations) > 0 {
		j.op, garbled = parseItems(j.op, e.Operations[0].Items)
	}
	for _, r := range e.Flows {
		switch r.Kind {
		case operation.KindDeduct:
			j.deducts = append(j.deducts, history.Item{GoodsID: r.Goods, Num: -r.Num})
		case operation.KindRestore:
			j.restores = append(j.restores, history.Item{GoodsID: r.Goods, Num: r.Num})
		}
	}
	return garbled
}

// parseItems reads "goods:num,goods:num". Any other text is garbled.
func parseItems(items []history.Item, text []byte) (_ []history.Item, garbled bool) {
	for rest, more := text, len(text) > 0; more; {
		var one []byte
		one, rest, more = bytes.Cut(rest, []byte{','})
		goods, num, _ := bytes.Cut(one, []byte{':'})
		// Text that is no positive number is garbled: it is not the text of the number returned.
		id, _ := strconv.ParseUint(string(goods), 10, 63)
		pieces, _ := strconv.ParseUint(string(num), 10, 63)
		garbled = garbled || len(items) > 0 && int64(id) <= items[len(items)-1].GoodsID
		items = append(items, history.Item{GoodsID: int64(id), Num: int64(pieces)})
	}
	return items, garbled || operation.EncodeItems(items) != string(text)
}

// once looks for duplicates under a flag.
func (j *judgement) once(e *Entry, n int) {
	if len(e.Operations) > 1 {
		j.add(DeductedOnce, e.Flag, n, 0, "one operation", "%d", len(e.Operations))
	}
	for i := 1; i < len(e.Flows); i++ {
		if a, b := &e.Flows[i-1], &e.Flows[i]; a.Goods == b.Goods && a.Kind == b.Kind {
			j.add(DeductedOnce, e.Flag, n, b.Goods, "one "+string(b.Kind)+" row", "more: %+d after %+d", b.Num, a.Num)
			if b.Kind == operation.KindDeduct {
				j.v.DoubleDeducted++
			}
		}
	}
	if len(e.Orders) > 1 {
		j.add(Unexplained, e.Flag, n, 0, "one row in the table orders", "%d", len(e.Orders))
	}
}

// complete compares the flow rows of a flag with its operation.
func (j *judgement) complete(e *Entry, n int, garbled bool) {
	state := history.NoStatus
	if len(e.Operations) > 0 {
		state = e.Operations[0].State
	}
	var deducts, restores []history.Item // as the state requires
	switch state {
	case history.Restored:
		deducts, restores = j.op, j.op
	case history.Done:
		deducts = j.op
	default:
	}
	wrong := !slices.Equal(j.deducts, deducts) || !slices.Equal(j.restores, restores) || garbled
	switch state {
	case history.Done, history.Restored, history.Rejected:
		wrong = wrong || len(j.op) == 0
	case history.Cancelled:
		wrong = wrong || len(j.op) > 0
	case history.NoStatus:
	default:
		wrong = true
	}
	if wrong {
		j.add(OperationComplete, e.Flag, n, 0, "the flow rows of the operation",
			"operation %s, deducted %s, restored %s", e.operation(), words(j.deducts), words(j.restores))
	}
	for _, r := range e.Flows {
		if r.Kind == operation.KindRestock && r.Num <= 0 {
			j.add(OperationComplete, e.Flag, n, r.Goods, "a restock of one piece or more", "%d", r.Num)
		}
	}
}

// matches compares an order with its operation, and its rows with each other. The operation of a foreign order may be
// newer or older than the order: the two databases are read one after the other, and others go on.
func (j *judgement) matches(e *Entry, n int, foreign bool) {
	if len(e.Orders) == 0 {
		switch {
		case j.h.Path == history.PathDeduct && n >= 0:
		case len(e.Operations)+len(j.deducts)+len(j.restores) > 0 && !j.direct(e):
			j.add(OrderMatchesOperation, e.Flag, n, 0, "an order", "operation %s, deducted %s, restored %s and no order",
				e.operation(), words(j.deducts), words(j.restores))
		}
		if len(e.Items) > 0 {
			j.add(OrderAsRequested, e.Flag, n, 0, "an order", "items and no order: %s", words(e.Items))
		}
		return
	}
	o := &e.Orders[0]
	if !foreign {
		j.status(e, o, n)
	}
	valid, sum := len(e.Items) > 0, int64(0)
	for i, it := range e.Items {
		valid = valid && it.Num > 0 && (i == 0 || it.GoodsID != e.Items[i-1].GoodsID)
		sum += it.Price * it.Num
	}
	if !valid {
		j.add(OrderAsRequested, e.Flag, n, 0, "one item or more, each of one piece or more", "%s", words(e.Items))
	}
	if sum != o.Total {
		j.add(OrderAsRequested, e.Flag, n, 0, "a total of "+strconv.FormatInt(sum, 10), "%d", o.Total)
	}
	if len(j.op) > 0 && !slices.EqualFunc(j.op, e.Items, func(a history.Item, b ItemRow) bool { return a == b.Item }) {
		j.add(OrderMatchesOperation, e.Flag, n, 0, "the order's items in its operation", "order %s, operation %s",
			words(e.Items), words(j.op))
	}
}

// status compares an order's status with its operation's state, and with its first outcome: all three are one of the
// states.
func (j *judgement) status(e *Entry, o *OrderRow, n int) {
	is := state{status: o.Status, outcome: o.Outcome}
	if len(e.Operations) > 0 {
		is.ledger = e.Operations[0].State
	}
	if o.Status == history.Pending || o.Status == history.Cancelling {
		j.add(Settled, e.Flag, n, 0, "an end", "order %s, operation %s", o.Status, e.operation())
	}
	if o.Status == history.NoStatus || !slices.Contains(states, is) {
		j.add(OrderMatchesOperation, e.Flag, n, 0, "an order in the state of its operation",
			"order %s, first outcome %q, operation %s", o.Status, o.Outcome, e.operation())
	}
}

// operation describes the operation.
func (e *Entry) operation() string {
	if len(e.Operations) == 0 {
		return "not there"
	}
	op := &e.Operations[0]
	if items, garbled := parseItems(nil, op.Items); !garbled {
		return op.State.String() + " of " + words(items)
	}
	return op.State.String() + " of " + strconv.Quote(string(op.Items))
}

// summary lists the rows of an entry.
func (e *Entry) summary() string {
	var parts []string
	count := func(n int, what string) {
		if n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+what)
		}
	}
	count(len(e.Orders), "order")
	count(len(e.Items), "items")
	count(len(e.Operations), "operation")
	for _, kind := range kinds {
		rows, pieces := 0, int64(0)
		for _, r := range e.Flows {
			if r.Kind == kind {
				rows, pieces = rows+1, pieces+r.Num
			}
		}
		count(rows, string(kind)+" rows of "+strconv.FormatInt(pieces, 10)+" pieces")
	}
	count(len(e.Restocks), "restocks")
	text := strings.Join(parts, ", ")
	if len(e.Orders) > 0 && e.Orders[0].Key != nil {
		text += " under key " + strconv.Quote(string(e.Orders[0].Key))
	}
	return text
}
