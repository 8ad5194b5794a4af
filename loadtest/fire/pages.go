package fire

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"orderstock/loadtest/history"
)

// pageLimit is the most orders that a page can have.
const pageLimit = 500

// walk reads the pages of orders, from the first order of the run to the last, and returns them. A page that cannot be
// read is asked for again, for the given time; the walk ends there then, and when ctx ends.
func (f *firing) walk(ctx context.Context, patience time.Duration) (pages []history.Aside) {
	c := newClient(f, 0)
	defer c.close()
	ops := f.orderIDs()
	if len(ops) == 0 {
		return nil
	}
	limit := time.Now().Add(patience)
	last := ops[len(ops)-1].id
	for after := ops[0].id - 1; after < last && ctx.Err() == nil; {
		a := c.page(context.WithoutCancel(ctx), ops, after)
		pages = append(pages, a)
		switch {
		case a.Code == http.StatusOK && a.Failure == history.Answered:
			if a.Next <= after { // the last page, or one that would be read for ever
				return pages
			}
			after = a.Next
		case time.Now().After(limit):
			return pages
		default:
			time.Sleep(max(finishEvery, c.after))
		}
	}
	return pages
}

// identity is the id of an order of the run.
type identity struct {
	id int64
	op int32
}

// orderIDs returns the orders whose ids the answers named, by id.
func (f *firing) orderIDs() []identity {
	var ids []identity
	for i := range f.h.Calls {
		if c := &f.h.Calls[i]; c.Order != 0 && c.Kind.Places() {
			ids = append(ids, identity{c.Order, c.Op})
		}
	}
	slices.SortFunc(ids, func(a, b identity) int { return int(min(max(a.id-b.id, -1), 1)) })
	return slices.CompactFunc(ids, func(a, b identity) bool { return a.id == b.id })
}

// page reads the orders after the given id.
func (c *client) page(ctx context.Context, ops []identity, after int64) history.Aside {
	a := history.NewAside(history.Page, 0)
	a.After = after
	r := request{
		method: http.MethodGet,
		path:   "/v1/orders?limit=" + strconv.Itoa(pageLimit) + "&after=" + strconv.FormatInt(after, 10),
	}
	return c.ask(ctx, a, &c.orders, r, func(a *history.Aside, body []byte) bool {
		var page struct {
			Orders []struct {
				orderAnswer
				Status string `json:"status"`
			} `json:"orders"`
			Next string `json:"next"`
		}
		if json.Unmarshal(body, &page) != nil {
			return false
		}
		for i := range page.Orders {
			o := &page.Orders[i]
			id, named, ok := o.read(c.named[:0])
			if c.named = named; !ok {
				return false
			}
			listed := history.Listed{Order: id, Total: o.Total, Op: -1, Status: history.ParseStatus(o.Status)}
			if at, known := slices.BinarySearchFunc(ops, id, func(o identity, id int64) int {
				return int(min(max(o.id-id, -1), 1))
			}); known {
				listed.Op = ops[at].op
			} else if !slices.ContainsFunc(named, func(it history.PricedItem) bool {
				_, ours := c.f.h.Product(it.GoodsID)
				return ours
			}) {
				continue // another client's
			}
			listed.Told = c.tellListed(listed.Op, named)
			a.Listed = append(a.Listed, listed)
		}
		if page.Next == "" {
			return true
		}
		next, err := strconv.ParseInt(page.Next, 10, 64)
		a.Next = next
		return err == nil && next > 0
	})
}

// tellListed returns how the history records the items of an order on a page.
func (c *client) tellListed(op int32, named []history.PricedItem) history.Told {
	var sent []history.Item
	if op >= 0 {
		sent = c.f.h.Items(int(op))
	}
	return c.f.h.Tell(history.ReadOrder, sent, named)
}
