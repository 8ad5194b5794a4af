package loadtest

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
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
	r := request{}
	c.body = appendBody(c.body[:0], items)
	r.body = c.body
	c.header = c.header[:0]
	if c.cfg.Path == PathDeduct {
		c.path = c.history.appendKey(append(c.path[:0], operations...), op)
		r.method, r.path = http.MethodPut, string(c.path)
		if c.cfg.Announce != nil && kind == Place {
			c.cfg.Announce(ctx, strings.TrimPrefix(r.path, operations))
		}
		c.header = append(c.header, authorization(c.cfg.StockToken)...)
	} else {
		r.method, r.path = http.MethodPost, "/v1/orders"
		c.header = append(c.header, "Idempotency-Key: "...)
		c.header = append(c.history.appendKey(c.header, op), "\r\n"...)
	}
	r.header = c.header
	return c.send(ctx, Call{Op: int32(op), Kind: kind, Intended: intended}, r)
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
