package fire

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
)

// client sends the calls of one worker, over its own connections.
type client struct {
	f             *firing
	orders, stock replicas      // of the order service, if the path goes there, and of the stock service
	after         time.Duration // the wait before a repeat that the last answer asked for; 0 if none

	// Of the current call.
	event  Event
	order  int64          // the id of its order on PathOrder; 0 if it is not known
	items  []history.Item // of its order, as they are sent
	sorted []history.Item // by ascending goods id
	named  []history.PricedItem
	header []byte
	body   []byte
	span   trace.Span // nil if calls are not traced
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

// call makes a call of that kind for order op, whose id is order on PathOrder, and returns it with its outcome. A call
// that has begun is awaited within its timeout, even if ctx ends first.
func (c *client) call(ctx context.Context, op int, kind history.Kind, order int64, intended time.Duration,
) history.Call {
	c.items, _ = c.f.plan.order(op, c.items[:0])
	if c.f.h.Odd && kind == history.Again && op%2 == 0 {
		slices.Reverse(c.items) // the same order
	}
	c.sorted = append(c.sorted[:0], c.items...)
	history.SortItems(c.sorted)
	c.event = Event{history.Call{Op: int32(op), Kind: kind, Intended: intended}, c.items}
	c.order = order
	ctx = c.beginSpan(context.WithoutCancel(ctx))
	c.event.Sent = c.f.now()
	if c.f.h.Library && kind == history.Place {
		c.byFunction(ctx)
	} else {
		c.send(ctx)
	}
	c.f.cfg.Live.end(&c.event.Call)
	c.endSpan()
	if c.f.cfg.Ended != nil {
		c.f.cfg.Ended(&c.event)
	}
	return c.event.Call
}

// toStock reports whether the current call goes to the stock service.
func (c *client) toStock() bool {
	return c.f.cfg.Path == history.PathDeduct || c.event.Kind == history.ReadLedger
}

// request returns the request of the current call.
func (c *client) request() (r request) {
	e, all := &c.event, "/v1/orders"
	r.header = c.appendTrace(c.header[:0])
	if c.toStock() {
		all = "/v1/operations"
		r.header = append(r.header, authorization(c.f.cfg.StockToken)...)
	}
	switch {
	case e.Kind == history.ReadLedger:
		r.method, r.path = http.MethodGet, "/v1/flows?flag="+c.flag()
	case e.Kind == history.ReadOrder:
		r.method, r.path = http.MethodGet, all+"/"+c.flag()
	case e.Kind == history.Cancel:
		r.method, r.path = http.MethodPost, all+"/"+c.flag()+"/cancel"
	case c.toStock():
		r.method, r.path = http.MethodPut, all+"/"+c.flag()
	default:
		r.method, r.path, r.once = http.MethodPost, all, c.f.h.FormOf(int(e.Op)) == history.Keyless
		r.header = c.appendKey(r.header, int(e.Op), e.Kind)
		if c.f.h.Odd && e.Kind == history.Again && e.Op%3 == 0 {
			r.media = "application/json; charset=utf-8" // the same
		}
	}
	if e.Kind.Places() {
		c.body = history.AppendBody(c.body[:0], e.Items)
		r.body = c.body
	}
	c.header = r.header
	return r
}

// flag returns the flag of the operation that the current call reads or makes: on PathOrder, the order's id.
func (c *client) flag() string {
	if c.f.cfg.Path == history.PathOrder {
		return strconv.FormatInt(c.order, 10)
	}
	return c.f.h.Key(int(c.event.Op))
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

// byFunction makes the current call through Config.Deduct or Config.Place.
func (c *client) byFunction(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.f.cfg.Timeout)
	defer cancel()
	var (
		e       = &c.event
		key     = c.f.h.Key(int(e.Op))
		op      operation.Operation
		placed  Placed
		err     error
		refused *stockapi.Error
	)
	if c.f.cfg.Path == history.PathDeduct {
		op, err = c.f.cfg.Deduct(ctx, key, e.Items)
	} else {
		placed, err = c.f.cfg.Place(ctx, key, e.Items)
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
		c.takeOperation(op)
	default:
		e.Code, e.Order, e.Total, e.Status = http.StatusCreated, placed.Order, placed.Total, placed.Status
		if placed.Status == history.Rejected {
			e.Code = http.StatusConflict
		}
	}
}

// send sends the current call to a replica and reads the answer.
func (c *client) send(ctx context.Context) {
	e, to := &c.event, &c.orders
	if c.toStock() {
		to = &c.stock
	}
	a, err := to.do(ctx, c.request())
	e.Done = c.f.now()
	e.Code, e.Resent, c.after = uint16(a.code), a.resent, a.after
	e.Postponed = a.after > history.MostWait
	switch {
	case err != nil:
		e.Failure = failureOf(err)
	case e.Kind == history.ReadLedger:
		c.readLedger(a.body)
	case c.f.cfg.Path == history.PathDeduct:
		c.readOperation(a.body)
	default:
		e.Replayed = a.replayed
		c.readOrder(a.body)
		e.Location = located(a.location, e.Order)
	}
	e.NoHint = noHint(a, e.Problem)
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
