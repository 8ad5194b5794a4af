package books

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"orderstock/loadtest/judge/shop"
)

// isRedis reports whether a DSN names a Redis server.
func isRedis(dsn string) bool {
	expanded, err := shop.Vars{}.Text(dsn)
	return err == nil && (strings.HasPrefix(expanded, "redis://") || strings.HasPrefix(expanded, "rediss://"))
}

// redis reads the books from a Redis server: each query is one command.
func (r *Reader) redis(ctx context.Context, dsn string, parts []part, vars shop.Vars, b *Books) error {
	for _, p := range parts {
		line, err := vars.Text(p.Query.Query)
		if err != nil {
			return err
		}
		answer, err := r.ask(ctx, dsn, line)
		if err != nil {
			return fmt.Errorf("the query of books.%s: %w", p.name, err)
		}
		t, err := r.tableOf(p.name, answer, vars)
		if err != nil {
			return fmt.Errorf("the query of books.%s: %w", p.name, err)
		}
		if err := b.take(p.name, t); err != nil {
			return err
		}
	}
	return nil
}

// ask sends one command, and returns the answer: nil, a text, a number, or a list. A connection serves one command, as
// few are sent.
func (r *Reader) ask(ctx context.Context, dsn, line string) (any, error) {
	expanded, err := shop.Vars{}.Text(dsn)
	if err != nil {
		return nil, err
	}
	options, err := redis.ParseURL(expanded)
	if err != nil {
		return nil, fmt.Errorf("dsn: %w", err)
	}
	options.Protocol = 2 // maps are lists
	options.DialTimeout, options.ReadTimeout, options.MaxRetries = r.timeout, r.timeout, -1
	words, err := shop.Words(line)
	if err != nil {
		return nil, fmt.Errorf("command %q: %w", line, err)
	}
	args := make([]any, len(words))
	for i := range words {
		args[i] = words[i]
	}
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }() // the answer is read
	answer, err := client.Do(ctx, args...).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	var failed net.Error
	switch {
	case errors.As(err, &failed):
		return nil, fmt.Errorf("%s: %w", r.named(dsn), err)
	case err != nil:
		return nil, fmt.Errorf("command %q: %w", line, err)
	}
	return answer, nil
}

// tableOf returns an answer as a table. Of the stock, a list holds names and pieces by turns, and a value is the pieces
// of the only product. Of orders, a list holds objects of JSON, or ids of orders for one piece of the only product.
func (r *Reader) tableOf(part string, answer any, vars shop.Vars) (*table, error) {
	list, isList := answer.([]any)
	if part == "stock" {
		t := &table{columns: []string{"product", "pieces"}}
		switch {
		case isList && len(list)%2 != 0:
			return nil, errors.New("want names and pieces by turns, as of HGETALL, or one value, as of GET")
		case isList:
			for pair := range slices.Chunk(list, 2) {
				t.rows = append(t.rows, []string{text(pair[0]), text(pair[1])})
			}
		case answer != nil:
			product, err := r.product(vars)
			if err != nil {
				return nil, err
			}
			t.rows = [][]string{{product, text(answer)}}
		}
		return t, nil
	}
	if !isList && answer != nil {
		return nil, errors.New("want a list, as of LRANGE, SMEMBERS, HKEYS or HVALS")
	}
	rows := make([]map[string]string, len(list))
	columns := map[string]bool{"id": true, "product": true, "pieces": true}
	for i, element := range list {
		row, err := r.row(text(element), vars)
		if err != nil {
			return nil, err
		}
		for name := range row {
			columns[name] = true
		}
		rows[i] = row
	}
	t := &table{columns: slices.Sorted(maps.Keys(columns))}
	for _, row := range rows {
		cells := make([]string, len(t.columns))
		for i, name := range t.columns {
			cells[i] = shop.Null
			if cell, ok := row[name]; ok {
				cells[i] = cell
			}
		}
		t.rows = append(t.rows, cells)
	}
	return t, nil
}

// row returns the columns of an element of a list.
func (r *Reader) row(element string, vars shop.Vars) (map[string]string, error) {
	var object map[string]any
	decoder := json.NewDecoder(strings.NewReader(element))
	decoder.UseNumber() // ids may have more digits than a float holds
	if decoder.Decode(&object) == nil {
		row := map[string]string{}
		for name, value := range object {
			row[strings.ToLower(name)] = text(value)
		}
		if id, ok := row["order_id"]; ok && row["id"] == "" {
			row["id"] = id
		}
		return row, nil
	}
	product, err := r.product(vars)
	return map[string]string{"id": element, "product": product, "pieces": "1"}, err
}

// product returns the only product.
func (r *Reader) product(vars shop.Vars) (string, error) {
	if len(r.stock) != 1 {
		return "", errors.New("the stock has several products: want an answer with their names")
	}
	for name := range r.stock {
		return vars.Text(name)
	}
	return "", nil
}
