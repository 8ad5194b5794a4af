package fire

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
)

// look makes the reads and the odd calls that follow the first answer to an order: a small share of the orders have
// some.
func (w *worker) look(ctx context.Context, first history.Call) {
	if !w.f.h.Odd {
		return
	}
	op := int(first.Op)
	if op == w.f.cfg.repriceAfter() {
		w.aside(w.main.goods(ctx, history.Reprice, history.Repriced))
		w.aside(w.main.goods(ctx, history.RestockAgain, history.Repriced)) // the price of before must not come back
	}
	if op%20 == 3 || first.Status == history.Pending {
		w.read(ctx, op, history.ReadOrder, first.Order)
	}
	if op%20 == 6 {
		w.read(ctx, op, history.ReadLedger, first.Order)
	}
	if op%25 == 9 {
		w.aside(w.main.level(ctx, op/25))
	}
	every := 8
	if op >= 1000 {
		every = 50
	}
	if op%every == 3 {
		w.odd(ctx, history.RestockAgain+history.AsideKind(op/every)%(history.AsideKinds-history.RestockAgain), first)
	}
}

// lookAgain reads some of the orders that are cancelled.
func (w *worker) lookAgain(ctx context.Context, l laterCall) {
	if w.f.h.Odd && l.op%2 == 0 {
		w.read(ctx, l.op, history.ReadOrder, l.order)
	}
	if w.f.h.Odd && l.op%4 == 1 {
		w.read(ctx, l.op, history.ReadLedger, l.order)
	}
}

// read reads an order, if its id is known and it is one.
func (w *worker) read(ctx context.Context, op int, kind history.Kind, order int64) {
	deduct := w.f.cfg.Path == history.PathDeduct
	if order == 0 && !deduct || kind == history.ReadOrder && (deduct || len(w.f.cfg.OrderURLs) == 0) {
		return
	}
	w.keepOf(order, w.main.read(ctx, op, kind, order))
}

func (w *worker) aside(a history.Aside) { w.asides = append(w.asides, a) }

// odd makes a call that is odd on purpose. Some have no meaning on the run's path, and are not made.
func (w *worker) odd(ctx context.Context, kind history.AsideKind, first history.Call) {
	c, op := w.main, int(first.Op)
	i := op % len(w.f.h.Goods)
	one := history.Item{GoodsID: w.f.h.Goods[i].ID, Num: 1}
	name := w.f.h.Run + "-odd-" + strconv.Itoa(op)
	a := history.NewAside(kind, 0)
	switch kind {
	case history.RestockElsewhere:
		if len(w.f.h.Goods) == 1 {
			return
		}
		a = c.goods(ctx, kind, i)
	case history.RestockAgain, history.RestockOther, history.RestockPrice:
		a = c.goods(ctx, kind, i)
	case history.BlankKey:
		a = c.refused(ctx, a, name[:len(w.f.h.Run)]+"%20odd", one)
	case history.LongKey:
		a = c.refused(ctx, a, name+longer[:256-len(name)], one)
	case history.OtherBody, history.OtherProducts:
		known := first.Ended() && first.Status != history.Cancelled && first.Status != history.NoStatus
		items := w.otherItems(kind)
		if !known || len(items) == 0 || w.f.h.FormOf(op) == history.Keyless {
			return
		}
		a.Op = first.Op
		a = c.refused(ctx, a, w.f.h.Key(op), items...)
	case history.TwiceInBasket:
		a = c.refused(ctx, a, name, one, one)
	case history.BeyondLimit:
		one.Num = 1 << 31
		a = c.refused(ctx, a, name, one)
	case history.Nothing:
		one.Num = 0
		a = c.refused(ctx, a, name, one)
	case history.Negative:
		one.Num = -1
		a = c.refused(ctx, a, name, one)
	case history.UnknownProduct:
		one.GoodsID += 500_000 // within the ids of this run's millisecond, which has no so many products
		a = c.refused(ctx, a, name, one)
	case history.UnknownOrder, history.CancelUnknown:
		if w.f.cfg.Path == history.PathDeduct || len(w.f.cfg.OrderURLs) == 0 {
			return
		}
		r := request{method: http.MethodGet, path: "/v1/orders/1"}
		if kind == history.CancelUnknown {
			r = request{method: http.MethodPost, path: r.path + "/cancel"}
		}
		a = c.ask(ctx, a, &c.orders, r, nil)
	case history.NoToken, history.NoTokenRead, history.NoTokenRestock, history.WrongToken:
		a = c.ask(ctx, a, &c.stock, c.unauthorized(kind, name, one), nil)
	default:
		return
	}
	w.aside(a)
}

// otherItems returns items that differ from the worker's order: another number of pieces, or as many of another
// product. An order of all products has one product less; it may be none.
func (w *worker) otherItems(kind history.AsideKind) []history.Item {
	items := slices.Clone(w.items)
	if kind == history.OtherBody {
		items[0].Num++
		return items
	}
	for _, g := range w.f.h.Goods {
		if !slices.ContainsFunc(items, func(it history.Item) bool { return it.GoodsID == g.ID }) {
			items[0].GoodsID = g.ID
			return items
		}
	}
	return items[:len(items)-1]
}

// unauthorized returns a call of the stock service without its token, or with another.
func (c *client) unauthorized(kind history.AsideKind, name string, one history.Item) request {
	product := "/v1/stock/" + strconv.FormatInt(one.GoodsID, 10)
	switch kind {
	case history.NoTokenRead:
		return request{method: http.MethodGet, path: product}
	case history.NoTokenRestock:
		body := []byte(`{"flag":"` + name + `","num":1}`)
		return request{method: http.MethodPost, path: product + "/restock", body: body}
	default:
	}
	r := request{method: http.MethodPut, path: operations + history.DirectPrefix + name}
	r.body = history.AppendBody(nil, []history.Item{one})
	if kind == history.WrongToken {
		r.header = authorization(c.f.cfg.StockToken + "x")
	}
	return r
}

// longer makes any key longer than the contract allows.
var longer = string(slices.Repeat([]byte{'l'}, 256))

// refused places an order, or makes a deduction, that the contract refuses.
func (c *client) refused(ctx context.Context, a history.Aside, key string, items ...history.Item) history.Aside {
	r := request{body: history.AppendBody(nil, items)}
	to := &c.orders
	if c.f.cfg.Path == history.PathDeduct {
		to = &c.stock
		r.method, r.path, r.header = http.MethodPut, operations+key, authorization(c.f.cfg.StockToken)
	} else {
		if a.Kind == history.BlankKey {
			key = key[:len(c.f.h.Run)] + " odd"
		}
		r.method, r.path, r.header = http.MethodPost, "/v1/orders", []byte("Idempotency-Key: "+key+"\r\n")
	}
	return c.ask(ctx, a, to, r, nil)
}

// goods sends the restock of product i of the run once more, or in another way, or changes its price.
func (c *client) goods(ctx context.Context, kind history.AsideKind, i int) history.Aside {
	a := history.NewAside(kind, 0)
	a.Goods = int32(i)
	body, id := restockOf(c.f.h, i), c.f.h.Goods[i].ID
	switch kind {
	case history.RestockOther:
		body.Num++
	case history.RestockPrice:
		price := *body.Price + 1
		body.Price = &price
	case history.RestockElsewhere:
		id = c.f.h.Goods[(i+1)%len(c.f.h.Goods)].ID
	case history.Reprice:
		body = repricing(c.f.h)
	default:
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // it has no values that JSON lacks
	}
	r := request{
		method: http.MethodPost, path: "/v1/stock/" + strconv.FormatInt(id, 10) + "/restock",
		header: authorization(c.f.cfg.StockToken), body: text,
	}
	return c.ask(ctx, a, &c.stock, r, func(a *history.Aside, body []byte) bool {
		var told operation.Goods
		return json.Unmarshal(body, &told) == nil && c.tellGoods(a, told)
	})
}

// level reads a product of the run, by turns alone, by its name in the list, and by its place there.
func (c *client) level(ctx context.Context, turn int) history.Aside {
	a := history.NewAside(history.Level, 0)
	i := turn % len(c.f.h.Goods)
	a.Goods = int32(i)
	id := c.f.h.Goods[i].ID
	paths := []string{"/v1/stock/%d", "/v1/stock?goods_id=%d", "/v1/stock?limit=1&after=%d"}
	which := turn % len(paths)
	named := id
	if which == 2 {
		named-- // the list goes on after this one
	}
	r := request{
		method: http.MethodGet, path: fmt.Sprintf(paths[which], named), header: authorization(c.f.cfg.StockToken),
	}
	return c.ask(ctx, a, &c.stock, r, func(a *history.Aside, body []byte) bool {
		var list struct {
			operation.Goods
			All []operation.Goods `json:"goods"`
		}
		if json.Unmarshal(body, &list) != nil || which > 0 && len(list.All) != 1 {
			return false
		}
		told := list.Goods
		if which > 0 {
			told = list.All[0]
		}
		return c.tellGoods(a, told)
	})
}

// tellGoods copies a product in an answer to the aside, and reports whether it is the one that was asked for.
func (c *client) tellGoods(a *history.Aside, told operation.Goods) bool {
	a.Num, a.Price = told.Num, told.Price
	return told.GoodsID == c.f.h.Goods[a.Goods].ID && told.Name == c.f.h.GoodsName()
}

// ask sends r and reads the answer into the aside. read reads the body of an answer 200, and reports whether it can be
// read.
func (c *client) ask(ctx context.Context, a history.Aside, to *replicas, r request,
	read func(*history.Aside, []byte) bool,
) history.Aside {
	a.Sent = time.Since(c.f.start)
	got, _, _, err := to.do(context.WithoutCancel(ctx), r)
	a.Done, a.Code, c.after = time.Since(c.f.start), uint16(got.code), got.after
	a.Postponed = got.after > history.MostWait
	switch {
	case err != nil:
		a.Failure = failureOf(err)
	case got.code == http.StatusOK && read != nil:
		if !read(&a, got.body) {
			a.Failure = history.Unreadable
		}
	case got.code >= http.StatusBadRequest:
		var problem struct {
			Code string `json:"code"`
		}
		if json.Unmarshal(got.body, &problem) == nil {
			a.Problem = history.ParseProblem(problem.Code)
		}
	}
	return a
}
