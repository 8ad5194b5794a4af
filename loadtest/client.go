package loadtest

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"orderstock/pkg/stockapi"
)

const operations = "/v1/operations/"

// client sends the calls of one worker, on connections of its own.
type client struct {
	cfg     *FireConfig
	history *History // only Key is used: it is not complete yet
	start   time.Time
	wires   []*wire
	turn    int
	header  []byte
	path    []byte
	body    []byte
}

func newClient(cfg *FireConfig, h *History, start time.Time, number int) (*client, error) {
	urls := cfg.OrderURLs
	if cfg.Path == PathDeduct {
		urls = cfg.StockURLs
	}
	c := &client{cfg: cfg, history: h, start: start, turn: number}
	for _, u := range urls {
		w, err := newWire(u, cfg.Timeout)
		if err != nil {
			return nil, err
		}
		c.wires = append(c.wires, w)
	}
	return c, nil
}

func (c *client) close() {
	for _, w := range c.wires {
		w.close()
	}
}

// place sends order op and returns what came of it.
func (c *client) place(ctx context.Context, op int, kind Kind, items []Item, intended time.Duration) Call {
	call := Call{Op: int32(op), Kind: kind, Intended: intended}
	if c.cfg.Path == PathDeduct && c.cfg.Deduct != nil && kind == Place {
		return c.deduct(ctx, call, items)
	}
	r := request{}
	c.body = appendBody(c.body[:0], items)
	r.body = c.body
	c.header = c.header[:0]
	if c.cfg.Path == PathDeduct {
		c.path = c.history.appendKey(append(c.path[:0], operations...), op)
		r.method, r.path = http.MethodPut, string(c.path)
		c.header = append(c.header, authorization(c.cfg.StockToken)...)
	} else {
		r.method, r.path = http.MethodPost, "/v1/orders"
		c.header = append(c.header, "Idempotency-Key: "...)
		c.header = append(c.history.appendKey(c.header, op), "\r\n"...)
	}
	r.header = c.header
	return c.send(ctx, call, r)
}

// deduct has the call made by the configuration's function.
func (c *client) deduct(ctx context.Context, call Call, items []Item) Call {
	named := make([]stockapi.Item, len(items))
	for i, item := range items {
		named[i] = stockapi.Item{GoodsID: strconv.FormatInt(item.GoodsID, 10), Num: item.Num}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.Timeout)
	defer cancel()
	call.Sent = time.Since(c.start)
	op, err := c.cfg.Deduct(ctx, c.history.Key(int(call.Op)), named)
	call.Done = time.Since(c.start)
	var refused *stockapi.Error
	switch {
	case err == nil:
		call.Code, call.Status, call.Replayed = http.StatusOK, parseStatus(string(op.State)), op.Repeat
	case errors.As(err, &refused):
		call.Code = uint16(refused.Status)
	case errors.Is(err, stockapi.ErrUnavailable):
		call.Failure = Refused
	default:
		call.Failure = failureOf(err)
	}
	return call
}

// cancel cancels order op, whose id is order on PathOrder.
func (c *client) cancel(ctx context.Context, op int, order int64, intended time.Duration) Call {
	r := request{method: http.MethodPost}
	if c.cfg.Path == PathDeduct {
		r.path = operations + c.history.Key(op) + "/cancel"
		r.header = authorization(c.cfg.StockToken)
	} else {
		r.path = "/v1/orders/" + strconv.FormatInt(order, 10) + "/cancel"
	}
	return c.send(ctx, Call{Op: int32(op), Kind: Cancel, Intended: intended}, r)
}

// send sends r to the address whose turn it is. Where no connection can be
// made it tries the others: a call that reached nobody may go elsewhere. A call
// that is begun is awaited within its timeout, also when ctx ends meanwhile.
func (c *client) send(ctx context.Context, call Call, r request) Call {
	ctx = context.WithoutCancel(ctx)
	call.Sent = time.Since(c.start)
	var (
		a   answer
		err error
	)
	for range c.wires {
		w := c.wires[c.turn%len(c.wires)]
		c.turn++
		a, err = w.do(ctx, r)
		if !errors.Is(err, errDial) {
			break
		}
	}
	call.Done = time.Since(c.start)
	if err != nil {
		call.Failure = failureOf(err)
		return call
	}
	call.Code, call.Replayed = uint16(a.code), a.replayed
	if c.cfg.Path == PathDeduct {
		readOperation(&call, a.body)
	} else {
		readOrder(&call, a.body)
	}
	return call
}
