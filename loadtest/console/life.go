package console

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"orderstock/loadtest/trace"
	"orderstock/pkg/redisdb"
)

// Life is everything known about one order.
type Life struct {
	Order     map[string]any   `json:"order"` // nil if there is none
	Items     []map[string]any `json:"items"`
	Operation map[string]any   `json:"operation"` // nil if the stock service knows nothing
	Flows     []map[string]any `json:"flows"`
	// FlagInRedis is "there", "gone" or "unknown".
	FlagInRedis string   `json:"flag_in_redis"`
	Answers     []Answer `json:"answers"`
	// Spans are the steps that were traced, in the order of their start.
	Spans []trace.Span `json:"spans"`
}

// Life reads the rows of an order in the four tables, its flag and the answers to clients.
func (c *Console) Life(ctx context.Context, order string) (*Life, error) {
	id, err := strconv.ParseInt(order, 10, 64)
	if err != nil || id <= 0 {
		return nil, invalid("order id %q: want a positive number", order)
	}
	at, err := c.running()
	if err != nil {
		return nil, err
	}
	life := &Life{FlagInRedis: at.flag(ctx, order), Answers: []Answer{}, Spans: c.traces.store.Order(order)}
	for _, read := range []struct {
		db    *sql.DB
		into  *[]map[string]any
		query string
		arg   any
	}{
		{at.orders, &life.Items, "SELECT CAST(goods_id AS CHAR) AS goods_id, num, price FROM order_items " +
			"WHERE order_id = ? ORDER BY goods_id", id},
		{at.stock, &life.Flows, "SELECT CAST(goods_id AS CHAR) AS goods_id, kind, num, created_at FROM stock_flow " +
			"WHERE flag = ? ORDER BY created_at, goods_id", order},
	} {
		if *read.into, err = rows(ctx, read.db, read.query, read.arg); err != nil {
			return nil, err
		}
	}
	if life.Order, err = row(ctx, at.orders, "SELECT CAST(id AS CHAR) AS id, status, outcome, reason, "+
		"idempotency_key, total, created_at, updated_at FROM orders WHERE id = ?", id); err != nil {
		return nil, err
	}
	if life.Operation, err = row(ctx, at.stock, "SELECT flag, state, reason, items, "+
		"LOWER(HEX(fencing_token)) AS fencing_token, created_at FROM operations WHERE flag = ?", order); err != nil {
		return nil, err
	}
	if life.Order == nil && life.Operation == nil {
		return nil, notFound("there is no order %s in this stack", order)
	}
	c.mu.Lock()
	m := c.meter
	c.mu.Unlock()
	if m != nil {
		life.Answers = append(life.Answers, m.answersFor(id)...)
	}
	return life, nil
}

// flag reports whether the order's flag is in Redis: "there", "gone" or "unknown".
func (s *view) flag(ctx context.Context, flag string) string {
	if len(s.Redis.Addrs) == 0 {
		return "unknown"
	}
	client := redisdb.Open(s.Redis, time.Second)
	defer func() { _ = client.Close() }()
	n, err := client.Exists(ctx, "opflag:"+flag).Result()
	switch {
	case err != nil:
		return "unknown"
	case n == 0:
		return "gone"
	}
	return "there"
}

// row returns the only row of a query, or nil.
func row(ctx context.Context, db *sql.DB, query string, arg any) (map[string]any, error) {
	all, err := rows(ctx, db, query, arg)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

func rows(ctx context.Context, db *sql.DB, query string, arg any) ([]map[string]any, error) {
	found, err := db.QueryContext(ctx, query, arg)
	if err != nil {
		return nil, fmt.Errorf("read order: %w", err)
	}
	defer func() { _ = found.Close() }() // only read
	names, err := found.Columns()
	if err != nil {
		return nil, fmt.Errorf("read order: %w", err)
	}
	all := []map[string]any{}
	for found.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := found.Scan(into...); err != nil {
			return nil, fmt.Errorf("read order: %w", err)
		}
		of := make(map[string]any, len(names))
		for i, name := range names {
			if text, ok := values[i].([]byte); ok {
				values[i] = string(text)
			}
			of[name] = values[i]
		}
		all = append(all, of)
	}
	return all, found.Err()
}

// HandOrder is one order that is sent by hand.
type HandOrder struct {
	Items []HandItem `json:"items"`
	Key   string     `json:"key"`
}

// HandItem is a product and a number of pieces.
type HandItem struct {
	GoodsID string `json:"goods_id"`
	Num     int64  `json:"num"`
}

// Placed is the answer to an order by hand, as the order service gave it.
type Placed struct {
	Status  int             `json:"status"`
	Body    json.RawMessage `json:"body"`
	OrderID string          `json:"order_id"`
}

// PlaceByHand sends an order to the first order service that accepts a connection, and returns its answer.
func (c *Console) PlaceByHand(ctx context.Context, o HandOrder) (*Placed, error) {
	at, err := c.running()
	if err != nil {
		return nil, err
	}
	if len(o.Items) == 0 {
		return nil, invalid("the order has no items")
	}
	body, err := json.Marshal(map[string]any{"items": o.Items})
	if err != nil {
		return nil, fmt.Errorf("encode order: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	header := http.Header{"Content-Type": {"application/json"}}
	if o.Key != "" {
		header.Set("Idempotency-Key", o.Key)
	}
	placed := &Placed{}
	end := c.traces.begin(ctx, header, o.Key)
	defer func() { end(placed) }()
	defer c.noteByHand(placed, o.Key)()
	resp, err := postToFirst(ctx, at.OrderURLs, header, body)
	if err != nil {
		return nil, problemOf(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return nil, problemOf(err)
	}
	placed.Status, placed.Body = resp.StatusCode, text
	if !json.Valid(text) {
		placed.Body, _ = json.Marshal(string(text))
	}
	placed.OrderID, _ = orderOf(text)
	return placed, nil
}

// handClient makes a new connection for each request, so that a dead order service refuses it.
var handClient = &http.Client{Transport: probe.Transport}

// postToFirst posts an order to the first of the order services that accepts a connection. It stops at any other error,
// since the order may have been placed.
func postToFirst(ctx context.Context, urls []string, header http.Header, body []byte) (resp *http.Response, err error) {
	err = errors.New("there is none")
	for _, url := range urls {
		var req *http.Request
		if req, err = http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/orders", bytes.NewReader(body)); err != nil {
			return nil, fmt.Errorf("place order: %w", err)
		}
		req.Header = header
		resp, err = handClient.Do(req)
		if refused, ok := errors.AsType[*net.OpError](err); !ok || refused.Op != "dial" {
			return resp, err
		}
	}
	return nil, err
}

// noteByHand notes that an order is being placed by hand. Callers must call done
// once placed is filled.
func (c *Console) noteByHand(placed *Placed, key string) (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.placing++
	if key != "" {
		c.handKeys = append(c.handKeys, key)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.placing--
		if placed.OrderID != "" {
			c.placed[placed.OrderID] = true
		}
	}
}

// byHand returns the flags and keys of the orders that were placed by hand, which no run's history has.
func (c *Console) byHand() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.AppendSeq(slices.Clone(c.handKeys), maps.Keys(c.placed))
}

// orderOf returns the order's id and status in an answer; both are "" in a problem.
func orderOf(answer []byte) (id, status string) {
	var order struct {
		ID     string `json:"id"`
		Status any    `json:"status"` // a number in a problem
	}
	if json.Unmarshal(answer, &order) != nil {
		return "", ""
	}
	status, _ = order.Status.(string)
	return order.ID, status
}

// problemOf returns the problem for an order service that did not answer.
func problemOf(err error) error { return conflict("the order service does not answer: %v", err) }

// orderMinusFive orders minus five pieces of the run's first product.
func (c *Console) orderMinusFive(ctx context.Context) error {
	c.mu.Lock()
	goods := c.meter.goods
	c.mu.Unlock()
	if len(goods) == 0 {
		return nil
	}
	placed, err := c.PlaceByHand(ctx, HandOrder{Items: []HandItem{{strconv.FormatInt(goods[0], 10), -5}}})
	if err != nil {
		return err
	}
	c.say("run", "an order for minus five pieces of product %d is answered %d", goods[0], placed.Status)
	return nil
}
