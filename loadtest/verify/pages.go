package verify

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"orderstock/loadtest/history"
)

// listing is an order on a page: Asides[page].Listed[at].
type listing struct {
	page, at int32
	inBook   bool
}

func (j *judgement) listed(l listing) *history.Listed { return &j.h.Asides[l.page].Listed[l.at] }

// readPages sorts the orders on the pages by id.
func (j *judgement) readPages() {
	pages := func(yield func(int, *history.Aside) bool) {
		for i := range j.h.Asides {
			a := &j.h.Asides[i]
			if a.Route == "/v1/orders" && a.Method == http.MethodGet && a.Code == http.StatusOK &&
				a.Failure == history.Answered && !yield(i, a) {
				return
			}
		}
	}
	n := 0
	for _, a := range pages {
		n += len(a.Listed)
	}
	j.listings = make([]listing, 0, n)
	for i, a := range pages {
		for k := range a.Listed {
			j.listings = append(j.listings, listing{int32(i), int32(k), false})
		}
	}
	slices.SortStableFunc(j.listings, func(a, b listing) int { return cmp.Compare(j.listed(a).Order, j.listed(b).Order) })
}

// find returns the listings of an order.
func (j *judgement) find(order int64) []listing {
	byID := func(l listing, id int64) int { return cmp.Compare(j.listed(l).Order, id) }
	from, _ := slices.BinarySearchFunc(j.listings, order, byID)
	to := from
	for to < len(j.listings) && j.listed(j.listings[to]).Order == order {
		to++
	}
	return j.listings[from:to]
}

// inBooks notes that the books have an order.
func (j *judgement) inBooks(order int64) {
	all := j.find(order)
	for i := range all {
		all[i].inBook = true
	}
}

// onPages adds the entries of order n in list pages to its answers.
func (j *judgement) onPages(n int, did end) {
	if did.order == 0 {
		return
	}
	all := j.find(did.order)
	j.shownOnPages = slices.Grow(j.shownOnPages[:0], len(all)) // the replies point into it
	for _, l := range all {
		page, o := &j.h.Asides[l.page], j.listed(l)
		j.shownOnPages = append(j.shownOnPages, history.Call{
			Op: int32(n), Kind: history.ReadOrder, Code: page.Code, Sent: page.Sent, Done: page.Done, Order: o.Order,
			Total: o.Total, Status: o.Status, Named: o.Named, Created: o.Created, Reason: o.Reason,
		})
		j.take(n, &j.shownOnPages[len(j.shownOnPages)-1], o)
	}
}

// invented looks for orders on the pages that the books do not have.
func (j *judgement) invented() {
	for _, l := range j.listings {
		if o := j.listed(l); !l.inBook {
			j.add(AnswersTrue, decimal(o.Order), int(o.Op), 0, "orders of the books on the pages", "no such order")
		}
	}
}

const (
	// fullPage is how many orders a page that is not the last has at least, if it has fewer than its limit: a page holds
	// 1,000 items at most, and an order 100. So it has at least fullItems then, if all of its orders are known.
	fullPage, fullItems = 10, 901
	// tooYoung is an age that an order on a page with follow cannot have: a page ends before orders less than a minute
	// old, and the clocks of the services may differ by half of it.
	tooYoung = 30 * time.Second
)

// orderList judges which orders a page has: those of the status that was asked for, after the cursor by rising id, up
// to the limit and the next cursor, and all of them.
func (j *judgement) orderList(a *history.Aside, values map[string][]string) {
	limit, after, upTo := number(values, "limit", 50), number(values, "after", int64(0)), int64(math.MaxInt64)
	status, follow := "", len(values["follow"]) > 0 && values["follow"][0] == "true"
	if len(values["status"]) > 0 {
		status = values["status"][0]
	}
	wrong := func(order int64, n int, expected, found string) {
		var flag []byte
		if order != 0 {
			flag = decimal(order)
		}
		j.add(AnswersTrue, flag, n, 0, expected, "%s%s, next %d", found, answered(a), a.Next)
	}
	if a.Next != 0 {
		upTo = a.Next
	}
	short := a.Next != 0 && !follow && (a.All < min(limit, fullPage) ||
		a.All < limit && a.All == len(a.Listed) && j.itemsOn(a) < fullItems)
	if a.All > limit || short {
		wrong(0, -1, "up to "+strconv.Itoa(limit)+" orders on a page, and so many if others follow", strconv.Itoa(a.All)+": ")
	}
	if a.Next != 0 && (a.Next < after || a.Next == after && !follow) || follow && a.Next == 0 && after > 0 {
		wrong(0, -1, "a cursor of the next page beyond "+strconv.FormatInt(after, 10), "")
	}
	if last := len(a.Listed) - 1; last >= 0 && a.All == len(a.Listed) && a.Next != 0 && a.Next != a.Listed[last].Order {
		wrong(a.Listed[last].Order, -1, "the id of the last order as the cursor of the next page", "")
	}
	before := after
	for i := range a.Listed {
		o := &a.Listed[i]
		switch {
		case o.Order <= before || o.Order > upTo:
			wrong(o.Order, int(o.Op), "each order once on the pages, by rising id", "")
		case status != "" && o.Status.String() != status:
			wrong(o.Order, int(o.Op), "orders that are "+status+" alone", o.Status.String()+": ")
		case follow && o.Op >= 0 && a.Done-j.times(int(o.Op)).sent < tooYoung:
			wrong(o.Order, int(o.Op), "no order that is less than a minute old, with follow", "")
		}
		before = o.Order
	}
	if follow || status != "" && !isEnd(history.ParseStatus(status)) { // it may have changed
		return
	}
	left := a.Listed
	for _, i := range j.knownOrders(after, upTo) {
		c := &j.h.Calls[i]
		for len(left) > 0 && left[0].Order < c.Order {
			left = left[1:]
		}
		there := len(left) > 0 && left[0].Order == c.Order
		if !there && c.Done < a.Sent && (status == "" || j.stays(int(c.Op), status, a)) {
			wrong(c.Order, int(c.Op), "the order, which was there, on the page", "")
			return
		}
	}
}

// itemsOn counts the items on a page.
func (j *judgement) itemsOn(a *history.Aside) (items int) {
	for i := range a.Listed {
		o := &a.Listed[i]
		items += len(j.h.Named(o.Named, history.ReadOrder, int(o.Op)))
	}
	return items
}

// stays reports whether order n had a status when a call was sent, as answers say, and still has it when the call is
// answered: it is final, or nobody has asked for a cancellation.
func (j *judgement) stays(n int, status string, a *history.Aside) (stays bool) {
	for _, i := range j.callsOf(n) {
		switch c := &j.h.Calls[i]; {
		case c.Kind == history.Cancel && c.Sent < a.Done && status == history.Confirmed.String():
			return false
		case c.Kind != history.ReadLedger && c.Done < a.Sent && isEnd(c.Status) && c.Status.String() == status:
			stays = true
		}
	}
	return stays
}

// knownOrders returns the calls whose answers named orders above one id and up to another.
func (j *judgement) knownOrders(after, upTo int64) []int32 {
	if j.byID == nil {
		for i := range j.h.Calls {
			if j.h.Calls[i].Order != 0 && j.h.Calls[i].Kind.Places() {
				j.byID = append(j.byID, int32(i))
			}
		}
		slices.SortFunc(j.byID, func(a, b int32) int { return cmp.Compare(j.h.Calls[a].Order, j.h.Calls[b].Order) })
	}
	at := func(id int64) int {
		i, _ := slices.BinarySearchFunc(j.byID, id, func(i int32, id int64) int {
			if j.h.Calls[i].Order <= id {
				return -1
			}
			return 1
		})
		return i
	}
	from, to := at(after), at(upTo)
	return j.byID[from:max(from, to)]
}
