package fire

import (
	"context"
	"encoding/json"
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
	}
	if op%20 == 3 || first.Status == history.Pending {
		w.read(ctx, op, history.ReadOrder, first.Order)
	}
	if op%20 == 6 {
		w.read(ctx, op, history.ReadLedger, first.Order)
	}
	if op%25 == 9 {
		w.aside(w.main.goods(ctx, history.Level, op/25%len(w.f.h.Goods)))
	}
	every := 15
	if op >= 1000 {
		every = 50
	}
	if op%every == 11 {
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
	deduct := w.f.cfg.Path == history.PathDeduct
	a := history.NewAside(kind, 0)
	switch kind {
	case history.RestockAgain, history.RestockOther:
		a = c.goods(ctx, kind, i)
	case history.BlankKey:
		a = c.refused(ctx, a, name[:len(w.f.h.Run)]+"%20odd", one)
	case history.LongKey:
		a = c.refused(ctx, a, name+longer[:256-len(name)], one)
	case history.OtherBody:
		known := first.Ended() && first.Status != history.Cancelled && first.Status != history.NoStatus
		if !known || w.f.h.FormOf(op) == history.Keyless {
			return
		}
		items := slices.Clone(w.items)
		items[0].Num++
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
	case history.UnknownProduct:
		one.GoodsID += 500_000 // within the ids of this run's millisecond, which has no so many products
		a = c.refused(ctx, a, name, one)
	case history.UnknownOrder:
		if deduct || len(w.f.cfg.OrderURLs) == 0 {
			return
		}
		a = c.ask(ctx, a, &c.orders, request{method: http.MethodGet, path: "/v1/orders/1"}, nil)
	case history.NoToken:
		r := request{method: http.MethodPut, path: operations + history.DirectPrefix + name}
		r.body = history.AppendBody(nil, []history.Item{one})
		a = c.ask(ctx, a, &c.stock, r, nil)
	default:
		return
	}
	w.aside(a)
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

// goods reads product i of the run, sends its restock once more, or changes its price.
func (c *client) goods(ctx context.Context, kind history.AsideKind, i int) history.Aside {
	a := history.NewAside(kind, 0)
	a.Goods = int32(i)
	r := request{
		method: http.MethodGet, path: "/v1/stock/" + strconv.FormatInt(c.f.h.Goods[i].ID, 10),
		header: authorization(c.f.cfg.StockToken),
	}
	if kind != history.Level {
		body := restockOf(c.f.h, i)
		switch kind {
		case history.RestockOther:
			body.Num++
		case history.Reprice:
			body = repricing(c.f.h)
		default:
		}
		var err error
		if r.body, err = json.Marshal(body); err != nil {
			panic(err) // it has no values that JSON lacks
		}
		r.method, r.path = http.MethodPost, r.path+"/restock"
	}
	return c.ask(ctx, a, &c.stock, r, func(a *history.Aside, body []byte) bool {
		var told operation.Goods
		err := json.Unmarshal(body, &told)
		a.Num, a.Price = told.Num, told.Price
		return err == nil && told.GoodsID == c.f.h.Goods[i].ID && told.Name == c.f.h.GoodsName()
	})
}

// ask sends r and reads the answer into the aside. read reads the body of an answer 200, and reports whether it can be
// read.
func (c *client) ask(ctx context.Context, a history.Aside, to *replicas, r request,
	read func(*history.Aside, []byte) bool,
) history.Aside {
	a.Sent = time.Since(c.f.start)
	got, _, _, err := to.do(context.WithoutCancel(ctx), r)
	a.Done, a.Code, c.after = time.Since(c.f.start), uint16(got.code), got.after
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
