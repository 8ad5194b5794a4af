package fire

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
)

const operations = "/v1/operations/"

// client sends the calls of one worker, over its own connections.
type client struct {
	f             *firing
	orders, stock replicas      // of the order service, if the path goes there, and of the stock service
	after         time.Duration // the wait before a repeat that the last answer asked for; 0 if none
	reading       int64         // the order whose ledger is read
	event         Event         // of the current call
	header        []byte
	path          []byte
	body          []byte
	span          trace.Span // of the current call; nil if calls are not traced

	drawn []history.Item // a buffer for an event
	// Buffers for reading answers.
	planned, sorted []history.Item
	named           []history.PricedItem
}

func newClient(f *firing, turn int) *client {
	return &client{
		f: f, orders: newReplicas(f.cfg.OrderURLs, f.cfg.Timeout, turn),
		stock: newReplicas(f.cfg.StockURLs, f.cfg.Timeout, turn),
	}
}

func (c *client) close() {
	c.orders.close()
	c.stock.close()
}

// begin records that a call is about to be sent.
func (c *client) begin(call history.Call, items []history.Item) *Event {
	call.Sent = c.f.now()
	c.event = Event{Call: call, Items: items}
	c.f.cfg.Live.begin()
	return &c.event
}

// end records that the current call has ended and returns it.
func (c *client) end() history.Call {
	c.f.cfg.Live.end(&c.event.Call)
	c.endSpan()
	if c.f.cfg.Ended != nil {
		if c.event.Items == nil { // of a cancellation or a read
			c.drawn, _ = c.f.plan.order(int(c.event.Op), c.drawn[:0])
			c.event.Items = c.drawn
		}
		c.f.cfg.Ended(&c.event)
	}
	return c.event.Call
}

// place sends order op and returns the call with its outcome.
func (c *client) place(ctx context.Context, op int, kind history.Kind, items []history.Item,
	intended time.Duration,
) history.Call {
	call := history.Call{Op: int32(op), Kind: kind, Intended: intended}
	if c.f.h.Library && kind == history.Place {
		return c.byFunction(ctx, call, items)
	}
	r := request{}
	c.body = history.AppendBody(c.body[:0], items)
	r.body = c.body
	c.header = c.header[:0]
	if c.f.cfg.Path == history.PathDeduct {
		c.path = c.f.h.AppendKey(append(c.path[:0], operations...), op)
		r.method, r.path = http.MethodPut, string(c.path)
		c.header = append(c.header, authorization(c.f.cfg.StockToken)...)
	} else {
		r.method, r.path, r.once = http.MethodPost, "/v1/orders", c.f.h.FormOf(op) == history.Keyless
		c.header = c.appendKey(c.header, op, kind)
		if c.f.h.Odd && kind == history.Again && op%3 == 0 {
			r.media = "application/json; charset=utf-8" // the same
		}
	}
	r.header = c.header
	return c.send(ctx, call, items, r)
}

// sameKey is what may stand around a key in its header: it is the same key.
var sameKey = [][2]string{{"", ""}, {`"`, `"`}, {"  ", " \t"}}

// escaped escapes a key within quotes.
var escaped = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// appendKey appends the header with the key of order op, if it has one, in a late repeat by any of sameKey.
func (c *client) appendKey(header []byte, op int, kind history.Kind) []byte {
	if c.f.h.FormOf(op) == history.Keyless {
		return header
	}
	header = append(header, "Idempotency-Key: "...)
	before, after := "", ""
	if c.f.h.Odd && kind == history.Again {
		form := sameKey[random(c.f.cfg.Mix.Seed, op).IntN(len(sameKey))]
		before, after = form[0], form[1]
	}
	key := c.f.h.Key(op)
	if strings.ContainsRune(key, '\\') && kind == history.Again { // it is escaped there
		before, after = `"`, `"`
	}
	if before == `"` {
		key = escaped.Replace(key)
	}
	header = append(append(header, before...), key...)
	header = append(header, after...)
	return append(header, "\r\n"...)
}

// byFunction makes the call through Config.Deduct or Config.Place.
func (c *client) byFunction(ctx context.Context, call history.Call, items []history.Item) history.Call {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.f.cfg.Timeout)
	defer cancel()
	ctx = c.beginSpan(ctx, call)
	e, key := c.begin(call, items), c.f.h.Key(int(call.Op))
	var (
		op      operation.Operation
		placed  Placed
		err     error
		refused *stockapi.Error
	)
	if c.f.cfg.Path == history.PathDeduct {
		op, err = c.f.cfg.Deduct(ctx, key, items)
	} else {
		placed, err = c.f.cfg.Place(ctx, key, items)
	}
	e.Done = c.f.now()
	switch {
	case errors.As(err, &refused):
		e.Code, e.Problem = uint16(refused.Status), history.ParseProblem(refused.Code)
	case errors.Is(err, operation.ErrUnavailable):
		e.Failure = history.Refused
	case err != nil:
		e.Failure = failureOf(err)
	case c.f.cfg.Path == history.PathDeduct:
		e.Code = http.StatusOK
		c.takeOperation(&e.Call, items, op)
	default:
		e.Code, e.Order, e.Total, e.Status = http.StatusCreated, placed.Order, placed.Total, placed.Status
		if placed.Status == history.Rejected {
			e.Code = http.StatusConflict
		}
	}
	return c.end()
}

// cancel cancels order op, whose id is order on PathOrder.
func (c *client) cancel(ctx context.Context, op int, order int64, intended time.Duration) history.Call {
	r := request{method: http.MethodPost}
	if c.f.cfg.Path == history.PathDeduct {
		r.path = operations + c.f.h.Key(op) + "/cancel"
		r.header = authorization(c.f.cfg.StockToken)
	} else {
		r.path = "/v1/orders/" + strconv.FormatInt(order, 10) + "/cancel"
	}
	return c.send(ctx, history.Call{Op: int32(op), Kind: history.Cancel, Intended: intended}, nil, r)
}

// read reads order op, whose id is order on PathOrder, or what the ledger has of it.
func (c *client) read(ctx context.Context, op int, kind history.Kind, order int64) history.Call {
	r := request{method: http.MethodGet}
	if kind == history.ReadOrder {
		r.path = "/v1/orders/" + strconv.FormatInt(order, 10)
	} else {
		c.reading = order
		r.path = "/v1/flows?flag=" + c.flag(&history.Call{Op: int32(op)})
		r.header = authorization(c.f.cfg.StockToken)
	}
	return c.send(ctx, history.Call{Op: int32(op), Kind: kind, Intended: c.f.now()}, nil, r)
}

// send sends r to a replica and reads the answer. A call that has begun is awaited within its timeout, even if ctx ends
// first.
func (c *client) send(ctx context.Context, call history.Call, items []history.Item, r request) history.Call {
	ctx = c.beginSpan(ctx, call)
	r.header = c.appendTrace(r.header)
	e := c.begin(call, items)
	to := &c.orders
	if c.f.cfg.Path == history.PathDeduct || call.Kind == history.ReadLedger {
		to = &c.stock
	}
	a, err := to.do(context.WithoutCancel(ctx), r)
	e.Done = c.f.now()
	e.Code, e.Resent, c.after = uint16(a.code), a.resent, a.after
	e.Postponed = a.after > history.MostWait
	switch {
	case err != nil:
		e.Failure = failureOf(err)
	case call.Kind == history.ReadLedger:
		c.readLedger(&e.Call, c.sent(e.Op, items), a.body)
	case c.f.cfg.Path == history.PathDeduct:
		c.readOperation(&e.Call, c.sent(e.Op, items), a.body)
	default:
		e.Replayed = a.replayed
		c.readOrder(&e.Call, c.sent(e.Op, items), a.body)
		e.Location = located(a.location, e.Order)
	}
	e.NoHint = noHint(a, e.Problem)
	return c.end()
}

// located compares the header Location with the order in the answer.
func located(header string, order int64) history.Location {
	switch header {
	case "":
		return history.NotLocated
	case "/v1/orders/" + strconv.FormatInt(order, 10):
		return history.Located
	}
	return history.Elsewhere
}
