package verifytest_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"

	"orderstock/loadtest/history"
)

// changeAnswer changes one field of an answer.
func (c *change) changeAnswer(r *rand.Rand) bool {
	c.table, c.history = "calls", c.of.history.Clone()
	h := c.history
	call := &h.Calls[r.IntN(len(h.Calls))]
	other := h.Calls[r.IntN(len(h.Calls))]
	c.before = *call
	c.edit(r, []edit{
		{"Code", func() {
			call.Code = pick(r, 0, 200, 201, 202, 400, 404, 409, 422, 429, 500, 502, 503, other.Code)
		}},
		{"Status", func() { call.Status = upTo(r, history.Unheard) }},
		{"Problem", func() { call.Problem = upTo(r, history.Problems-1) }},
		{"Named", func() {
			call.Named = pick(r, history.NoItems, history.ItemsAsSent, repriced(h, call.Kind, call.Op),
				c.answerOther(r, call))
		}},
		{"Order", func() { call.Order = pick(r, 0, call.Order+1, other.Order) }},
		{"Total", func() { call.Total = pick(r, 0, call.Total+1, other.Total, -call.Total) }},
		{"Replayed", func() { call.Replayed = !call.Replayed }},
		{"NoHint", func() { call.NoHint = !call.NoHint }},
		{"Failure", func() { call.Failure = upTo(r, history.Unsent) }},
		{"Reason", func() {
			call.Reason = pick(r, 0, h.Reasoned("cancelled by the client"), h.Reasoned("any"), other.Reason)
		}},
		{"Created", func() { call.Created = pick(r, 0, call.Created+1, other.Created) }},
		{"Location", func() { call.Location = upTo(r, history.Elsewhere) }},
		{"Rows", func() {
			call.Rows = pick(r, history.NoRows, history.Deducted, history.GivenBack, other.Rows,
				h.SawRows(h.Items(int(call.Op)), changeRow(r, h.FlowRows(call))))
		}},
	})
	c.after = *call
	return c.before != c.after
}

// edit is a change to a row, with its name.
type edit struct {
	what string
	do   func()
}

// edit makes one of the edits.
func (c *change) edit(r *rand.Rand, all []edit) {
	e := pick(r, all...)
	c.what = e.what
	e.do()
}

// pick returns one of the values, and upTo any number up to the last.
func pick[T any](r *rand.Rand, values ...T) T         { return values[r.IntN(len(values))] }
func upTo[T ~uint8 | ~uint16](r *rand.Rand, last T) T { return T(r.IntN(int(last) + 1)) }

// changeRow returns the flow rows with another number of pieces, or one row less or more.
func changeRow(r *rand.Rand, rows []history.Row) []history.Row {
	changed := slices.Clone(rows)
	if len(changed) == 0 {
		return []history.Row{{Kind: "deduct", GoodsID: 1, Num: -1}}
	}
	switch at := r.IntN(len(changed)); r.IntN(4) {
	case 0:
		changed[at].Num--
	case 1:
		changed[at].GoodsID++
	case 2:
		changed = slices.Delete(changed, at, at+1)
	case 3:
		changed = append(changed, changed[at])
	}
	return changed
}

// changeAside changes one field of a call that concerns no single order, or of an order on a page.
func (c *change) changeAside(r *rand.Rand) bool {
	c.table, c.history = "asides", c.of.history.Clone()
	h := c.history
	a := &h.Asides[r.IntN(len(h.Asides))]
	before := *a
	c.before = before
	if len(a.Listed) > 0 && r.IntN(2) == 0 {
		a.Listed = slices.Clone(a.Listed)
		return c.changeListed(r, a)
	}
	c.edit(r, []edit{
		{"Code", func() { a.Code = pick[uint16](r, 0, 200, 201, 400, 404, 409, 422, 500) }},
		{"Problem", func() { a.Problem = upTo(r, history.Problems-1) }},
		{"Failure", func() { a.Failure = upTo(r, history.Unsent) }},
		{"NoHint", func() { a.NoHint = !a.NoHint }},
		{"OtherID", func() { a.OtherID = !a.OtherID }},
		{"Token", func() { a.Token = map[bool]string{true: "none"}[a.Token == ""] }},
		{"Media", func() { a.Media = map[bool]string{true: "text/plain"}[a.Media == ""] }},
		{"Answer", func() { a.Answer = changeNumber(r, a.Answer) }},
		{"Path", func() { a.Path = changeNumber(r, a.Path) }},
		{"Next", func() { a.Next = pick(r, 0, a.Next+1+r.Int64N(1e9)) }},
	})
	c.after = *a
	return !reflect.DeepEqual(c.before, c.after)
}

// changeNumber puts many digits before one of the numbers of a text: in traffic, other levels may be right, too.
func changeNumber(r *rand.Rand, text string) string {
	var at []int
	for i := range text {
		if text[i] >= '0' && text[i] <= '9' && (i == 0 || text[i-1] == ':' || text[i-1] == '"' || text[i-1] == '=') {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return text
	}
	i := pick(r, at...)
	return text[:i] + "1000000" + text[i:]
}

// changeListed changes a page's list of orders.
func (c *change) changeListed(r *rand.Rand, a *history.Aside) bool {
	at := r.IntN(len(a.Listed))
	o := &a.Listed[at]
	c.before = *o
	switch r.IntN(8) {
	case 0:
		c.what, c.after = "listed deleted", *a
		a.Listed = slices.Delete(a.Listed, at, at+1)
		return true
	case 1:
		c.what = "listed doubled"
		a.Listed = append(a.Listed, *o)
		return true
	case 2:
		c.what = "listed Order"
		o.Order += 1 + r.Int64N(1000)
	case 3:
		c.what = "listed Total"
		o.Total++
	case 4:
		c.what = "listed Status"
		o.Status = upTo(r, history.Unheard)
	case 5:
		c.what = "listed Named"
		if o.Named = history.NoItems; o.Op >= 0 && r.IntN(2) == 0 {
			o.Named = repriced(c.history, history.ReadOrder, o.Op)
		}
	case 6:
		c.what = "listed Created"
		o.AsAnswered, o.Created = false, pick(r, 0, o.Created+1)
	case 7:
		c.what = "listed Reason"
		at := slices.IndexFunc(c.history.Calls, func(call history.Call) bool { return call.Order == o.Order })
		if at < 0 {
			return false
		}
		o.AsAnswered, o.Created, o.Reason = false, c.history.Calls[at].Created, c.history.Reasoned("any")
	}
	c.after = *o
	return c.before != c.after
}

// repriced identifies the items of an order at the last prices: as ItemsAsSent without the product Repriced.
func repriced(h *history.History, kind history.Kind, op int32) history.NamedItems {
	named := h.Named(history.ItemsAsSent, kind, int(op))
	for i := range named {
		if named[i].GoodsID == h.Goods[history.Repriced].ID && named[i].Price != 0 {
			named[i].Price = h.NewPrice()
		}
	}
	return h.Identify(kind, h.Items(int(op)), named)
}

// answerOther returns an answer with one item more or less, or with another number or price.
func (c *change) answerOther(r *rand.Rand, call *history.Call) history.NamedItems {
	h, sent := c.history, c.history.Items(int(call.Op))
	named := h.Named(history.ItemsAsSent, call.Kind, int(call.Op))
	switch at := r.IntN(len(named)); r.IntN(4) {
	case 0:
		named[at].Num++
	case 1:
		named[at].Price++
	case 2:
		named[at].GoodsID++
	case 3:
		named = append(named, named[at])
	}
	return h.Identify(call.Kind, sent, named)
}

// changeFile deletes, duplicates, moves or truncates a line of the history's file, and reads the file again.
func (c *change) changeFile(r *rand.Rand) bool {
	c.table = "file"
	if c.of.file == nil {
		var file bytes.Buffer
		if err := c.of.history.Write(&file); err != nil {
			panic(err) // writing to a buffer does not fail
		}
		c.of.file = file.Bytes()
	}
	lines := bytes.SplitAfter(c.of.file, []byte("\n"))
	lines = lines[:len(lines)-1] // nothing follows the last newline
	i, k := r.IntN(len(lines)), r.IntN(len(lines))
	c.before = string(lines[i])
	switch r.IntN(4) {
	case 0:
		c.what = "deleted"
		lines = slices.Delete(lines, i, i+1)
	case 1:
		c.what = "doubled"
		lines = slices.Insert(lines, k, lines[i])
	case 2:
		c.what = "moved"
		if i == k {
			return false
		}
		lines[i], lines[k] = lines[k], lines[i]
	case 3:
		c.what = "cut"
		lines = lines[:i+1]
		lines[i] = lines[i][:r.IntN(len(lines[i]))]
	}
	h, err := history.Read(bytes.NewReader(bytes.Join(lines, nil)))
	if c.unreadable = err != nil; !c.unreadable {
		c.history = h
	}
	return true
}
