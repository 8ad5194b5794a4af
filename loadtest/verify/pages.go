package verify

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"orderstock/loadtest/history"
)

// walk is the range of orders that the run's pages cover.
type walk struct {
	after, upTo int64
	began       time.Duration
}

// listing is an order on a page.
type listing struct {
	page   *history.Aside
	order  *history.Listed
	inBook bool
}

// readPages sorts the orders on the pages by id. No order may be there twice, and they must be in order.
func (j *judge) readPages() {
	for i := range j.h.Asides {
		a := &j.h.Asides[i]
		if a.Kind != history.Page {
			continue
		}
		if j.pages == nil {
			j.pages = &walk{after: a.After, upTo: a.After, began: a.Sent}
		}
		if a.Code != 200 || a.Failure != history.Answered {
			continue
		}
		if a.After != j.pages.upTo {
			j.add(AnswersTrue, nil, -1, 0, "the page after order "+strconv.FormatInt(j.pages.upTo, 10), "%d", a.After)
		}
		if a.Next != 0 && a.Next <= a.After {
			j.add(AnswersTrue, nil, -1, 0, "a cursor of the next page beyond "+strconv.FormatInt(a.After, 10), "%d", a.Next)
		}
		if j.pages.upTo = a.Next; a.Next == 0 {
			j.pages.upTo = math.MaxInt64
		}
		before := a.After
		for k := range a.Listed {
			o := &a.Listed[k]
			if o.Order <= before || o.Order > j.pages.upTo {
				j.add(AnswersTrue, decimal(o.Order), int(o.Op), 0, "each order once on the pages, by rising id", "after %d", before)
			}
			before = o.Order
			j.listed = append(j.listed, listing{a, o, false})
		}
	}
	slices.SortFunc(j.listed, func(a, b listing) int { return cmp.Compare(a.order.Order, b.order.Order) })
}

// find returns the listing of an order, or nil.
func (j *judge) find(order int64) *listing {
	byID := func(l listing, id int64) int { return cmp.Compare(l.order.Order, id) }
	i, found := slices.BinarySearchFunc(j.listed, order, byID)
	if !found {
		return nil
	}
	return &j.listed[i]
}

// inBooks notes that the books have an order.
func (j *judge) inBooks(order int64) {
	if l := j.find(order); l != nil {
		l.inBook = true
	}
}

// onPage adds what the pages say of order n to its answers. An order whose id a client knew before must be there.
func (j *judge) onPage(n int, did end) {
	if j.pages == nil || did.order == 0 {
		return
	}
	l := j.find(did.order)
	if l == nil {
		known := slices.ContainsFunc(j.replies, func(r reply) bool { return r.Order == did.order && r.Done < j.pages.began })
		if known && did.order > j.pages.after && did.order <= j.pages.upTo {
			j.add(AnswersTrue, decimal(did.order), n, 0, "the order on one of the pages", "on none")
		}
		return
	}
	j.page = history.Call{
		Op: int32(n), Kind: history.ReadOrder, Code: l.page.Code, Sent: l.page.Sent, Done: l.page.Done,
		Order: l.order.Order, Total: l.order.Total, Status: l.order.Status, Told: l.order.Told,
		Created: l.order.Created, Reason: l.order.Reason,
	}
	j.asAnswered = l.order.AsAnswered
	says, wellFormed := saidBy(j.h.Path, &j.page)
	if !wellFormed {
		j.add(AnswerWellFormed, nil, n, 0, "an order on a page by the contract", "%s", answer(&j.page))
	}
	j.replies = append(j.replies, reply{&j.page, says})
}

// invented looks for orders on the pages that the books do not have.
func (j *judge) invented() {
	for _, l := range j.listed {
		if !l.inBook {
			j.add(AnswersTrue, decimal(l.order.Order), int(l.order.Op), 0, "orders of the books on the pages", "no such order")
		}
	}
}
