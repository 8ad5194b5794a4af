package fire

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"orderstock/loadtest/contract"
	"orderstock/loadtest/history"
)

// The bounds of the orders on a page. The smallest run that has some has more than one page.
const (
	leastOnPage = 50
	mostOnPage  = 500 // of the contract
)

// lastLevels is the most products that are read at last.
const lastLevels = 6

// readAtLast reads some products and the pages of orders, when the traffic has ended.
func (f *firing) readAtLast(ctx context.Context, last *finishing) {
	c := newClient(f, 0)
	defer c.close()
	for i := range min(len(f.h.Goods), lastLevels) {
		f.readOn(ctx, c, last, history.RowLevel, f.level(i))
	}
	if f.cfg.Path == history.PathOrder && len(f.cfg.OrderURLs) > 0 {
		f.walk(ctx, c, last)
	}
}

// readOn makes a read until it has an end, or until ctx ends, and returns it.
func (f *firing) readOn(ctx context.Context, c *client, last *finishing, name string, q call) history.Aside {
	for {
		a := c.ask(ctx, name, q)
		if name == history.RowPage {
			c.readList(&a)
		}
		f.h.Asides = append(f.h.Asides, a)
		if a.Ended() {
			last.anEnd()
			return a
		}
		pause, ok := last.waits(c.after)
		if !ok || last.over() || ctx.Err() != nil || !sleepUntil(ctx, time.Now().Add(pause)) {
			return a
		}
	}
}

// walk reads the pages of orders, from the first order of the run to the last. It ends at a page that cannot be read,
// and when ctx ends.
func (f *firing) walk(ctx context.Context, c *client, last *finishing) {
	ops := f.orderIDs()
	if len(ops) == 0 {
		return
	}
	limit, list := min(max(len(ops)/3, leastOnPage), mostOnPage), contract.Find(http.MethodGet, "/v1/orders")
	for after := ops[0].id - 1; after < ops[len(ops)-1].id && ctx.Err() == nil; {
		path := "/v1/orders?limit=" + strconv.Itoa(limit) + "&after=" + strconv.FormatInt(after, 10)
		a := f.readOn(ctx, c, last, history.RowPage, call{route: list, path: path, op: -1})
		if a.Code != http.StatusOK || a.Next <= after { // the last page, or one that would be read for ever
			return
		}
		after = a.Next
	}
}

// identity is an order of the run as the answers described it: with its first date and its last reason.
type identity struct {
	id      int64
	created int64
	op      int32
	reason  history.Reason
}

// orderIDs returns the orders whose ids the answers named, by id. The traffic must have ended.
func (f *firing) orderIDs() []identity {
	if f.ids != nil {
		return f.ids
	}
	ids := make([]identity, 0, len(f.h.Calls))
	for i := range f.h.Calls {
		if c := &f.h.Calls[i]; c.Order != 0 {
			ids = append(ids, identity{c.Order, c.Created, c.Op, c.Reason})
		}
	}
	slices.SortStableFunc(ids, func(a, b identity) int { return cmp.Compare(a.id, b.id) })
	f.ids = ids[:0]
	for _, o := range ids {
		switch last := len(f.ids) - 1; {
		case last < 0 || f.ids[last].id != o.id:
			f.ids = append(f.ids, o)
		case o.reason != 0:
			f.ids[last].reason = o.reason
		}
	}
	return f.ids
}

// readLists reads the pages of orders that were drawn.
func (f *firing) readLists() {
	c := &client{f: f}
	for i := range f.h.Asides {
		if a := &f.h.Asides[i]; a.Route == "/v1/orders" && a.Method == http.MethodGet && a.Answer != "" {
			c.readList(a)
		}
	}
}

// readList replaces the text of an answer by the orders that it lists.
func (c *client) readList(a *history.Aside) {
	if a.Failure != history.Answered || a.Code != http.StatusOK {
		return
	}
	var page struct {
		Orders []struct {
			orderAnswer
			Status string `json:"status"`
		} `json:"orders"`
		Next string `json:"next"`
	}
	a.Failure = history.Unreadable
	if json.Unmarshal([]byte(a.Answer), &page, contract.Strict) != nil {
		return
	}
	ops := c.f.orderIDs()
	a.Listed = slices.Grow(a.Listed, len(page.Orders))
	for i := range page.Orders {
		o := &page.Orders[i]
		id, named, ok := o.read(c.named[:0])
		if c.named = named; !ok {
			return
		}
		listed := history.Listed{Order: id, Total: o.Total, Op: -1, Status: history.ParseStatus(o.Status)}
		listed.Created, listed.Reason = o.created(), c.f.h.Reasoned(o.Reason)
		if at, known := slices.BinarySearchFunc(ops, id, func(o identity, id int64) int {
			return cmp.Compare(o.id, id)
		}); known {
			listed.Op = ops[at].op
			if listed.Created == ops[at].created && listed.Reason == ops[at].reason {
				listed.AsAnswered, listed.Created, listed.Reason = true, 0, 0
			}
		} else if !slices.ContainsFunc(named, func(it history.PricedItem) bool {
			_, ours := c.f.h.Product(it.GoodsID)
			return ours
		}) {
			continue // another client's
		}
		var sent []history.Item
		if listed.Op >= 0 {
			sent = c.f.h.Items(int(listed.Op))
		}
		listed.Named = c.f.h.Identify(history.ReadOrder, sent, named)
		a.Listed = append(a.Listed, listed)
	}
	if page.Next != "" {
		next, err := strconv.ParseInt(page.Next, 10, 64)
		if a.Next = next; err != nil || next < 1 {
			return
		}
	}
	a.Failure, a.Answer, a.All = history.Answered, "", len(page.Orders)
}
