package console

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"orderstock/loadtest/tables"
	"orderstock/pkg/redisdb"
)

// Life is everything known about one order.
type Life struct {
	Order     map[string]any   `json:"order"` // nil if there is none
	Items     []map[string]any `json:"items"`
	Operation map[string]any   `json:"operation"` // nil if the stock service knows nothing
	Flows     []map[string]any `json:"flows"`
	// FlagInRedis is "there", "gone" or "unknown".
	FlagInRedis string          `json:"flag_in_redis"`
	Answers     []tables.Answer `json:"answers"`
	// Spans are the steps that were traced, in the order of their start.
	Spans []Span `json:"spans"`
}

// Life reads the rows of an order in the four tables, its flag and the answers to clients.
func (c *Console) Life(ctx context.Context, order string) (*Life, error) {
	id, err := strconv.ParseInt(order, 10, 64)
	if err != nil || id <= 0 {
		return nil, invalid("order id %q: want a positive number", order)
	}
	at, err := c.serving()
	if err != nil {
		return nil, err
	}
	life := &Life{FlagInRedis: at.flag(ctx, order), Answers: []tables.Answer{}, Spans: c.traces.Order(order)}
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
	life.Answers = append(life.Answers, c.player.Meter().Answers(id)...)
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

// rows returns the rows of a query, each by the names of its columns.
func rows(ctx context.Context, db *sql.DB, query string, arg any) ([]map[string]any, error) {
	found, err := db.QueryContext(ctx, query, arg)
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	defer func() { _ = found.Close() }() // only read
	columns, err := found.Columns()
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	all := []map[string]any{}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for found.Next() {
		if err := found.Scan(into...); err != nil {
			return nil, fmt.Errorf("read rows: %w", err)
		}
		of := make(map[string]any, len(columns))
		for i, name := range columns {
			of[name] = values[i]
			if text, ok := values[i].([]byte); ok {
				of[name] = string(text)
			}
		}
		all = append(all, of)
	}
	return all, found.Err()
}
