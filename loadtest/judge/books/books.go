// Package books reads a shop's databases by the queries of its file: MySQL, MariaDB and PostgreSQL, and any other by a
// command that prints CSV.
package books

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"orderstock/loadtest/judge/shop"
)

// Row is an item of an order or of a deduction.
type Row struct {
	ID      string      `json:"id"`
	Key     string      `json:"key,omitempty"`
	Product string      `json:"product"`
	Pieces  shop.Pieces `json:"pieces"`
	// State is "" if the query has none, and shop.Null if it is NULL.
	State string `json:"state,omitempty"`
	// Buyer is "" if the query has none.
	Buyer string `json:"buyer,omitempty"`
}

func (r Row) String() string {
	text := fmt.Sprintf("order %s: %s of product %s", r.ID, r.Pieces, r.Product)
	if r.Product == "" {
		text = fmt.Sprintf("order %s without items", r.ID)
	}
	if r.Key != "" {
		text += ", key " + r.Key
	}
	if r.Buyer != "" {
		text += ", buyer " + r.Buyer
	}
	if r.State != "" {
		text += ", state " + shop.ShowState(r.State)
	}
	return text
}

// Level is a row of the stock. A product may have several.
type Level struct {
	Product string      `json:"product"`
	Pieces  shop.Pieces `json:"pieces"`
}

// Books is what the queries found. A part without a query is nil.
type Books struct {
	Levels     []Level
	Orders     []Row
	Deductions []Row

	HasKeys, HasState, HasBuyers bool // whether the orders have the column
}

// Stock returns the pieces of each product that the stock has.
func (b *Books) Stock() map[string]shop.Pieces {
	stock := make(map[string]shop.Pieces, len(b.Levels))
	for _, l := range b.Levels {
		stock[l.Product] += l.Pieces
	}
	return stock
}

// Equal reports whether two reads found the same.
func (b *Books) Equal(other *Books) bool {
	return slices.Equal(b.Levels, other.Levels) && slices.Equal(b.Orders, other.Orders) &&
		slices.Equal(b.Deductions, other.Deductions) && b.HasKeys == other.HasKeys && b.HasState == other.HasState &&
		b.HasBuyers == other.HasBuyers
}

// sort makes the order of rows without meaning the same in each read.
func (b *Books) sort() {
	for _, rows := range [][]Row{b.Orders, b.Deductions} {
		slices.SortFunc(rows, func(x, y Row) int {
			return cmp.Or(strings.Compare(x.ID, y.ID), strings.Compare(x.Product, y.Product),
				cmp.Compare(x.Pieces, y.Pieces), strings.Compare(x.Key, y.Key), strings.Compare(x.State, y.State),
				strings.Compare(x.Buyer, y.Buyer))
		})
	}
	slices.SortFunc(b.Levels, func(x, y Level) int {
		return cmp.Or(strings.Compare(x.Product, y.Product), cmp.Compare(x.Pieces, y.Pieces))
	})
}

// table is the result of a query: lower-case names of columns, and rows of texts. NULL is shop.Null.
type table struct {
	columns []string
	rows    [][]string
}

// column returns the index of the first of names that the table has, or -1.
func (t *table) column(names ...string) int {
	for _, name := range names {
		if i := slices.Index(t.columns, name); i >= 0 {
			return i
		}
	}
	return -1
}

// take fills a part of the books.
func (b *Books) take(part string, t *table) error {
	id, key := t.column("id", "order_id"), t.column("key", "idempotency_key")
	product, pieces := t.column("product", "product_id"), t.column("pieces", "quantity")
	state, buyer := t.column("state", "status"), t.column("buyer")
	if product < 0 || pieces < 0 || part != "stock" && id < 0 {
		want := "id, product and pieces, optionally key, state and buyer"
		switch part {
		case "stock":
			want = "product and pieces"
		case "deductions":
			want = "order_id, product and pieces"
		}
		return fmt.Errorf("the query of books.%s has the columns %s: want %s; name them with AS",
			part, strings.Join(t.columns, ", "), want)
	}
	rows := make([]Row, 0, len(t.rows))
	for _, cells := range t.rows {
		row := Row{Product: shop.ID(notNull(cells[product]))}
		if id >= 0 {
			row.ID = shop.ID(notNull(cells[id]))
		}
		if key >= 0 {
			row.Key = shop.ID(notNull(cells[key]))
		}
		if state >= 0 {
			row.State = cells[state]
		}
		if buyer >= 0 {
			row.Buyer = shop.ID(notNull(cells[buyer]))
		}
		if text := notNull(cells[pieces]); text != "" {
			var err error
			if row.Pieces, err = shop.ParsePieces(text); err != nil {
				return fmt.Errorf("the query of books.%s: %w", part, err)
			}
		}
		rows = append(rows, row)
	}
	switch part {
	case "orders":
		b.Orders, b.HasKeys, b.HasState, b.HasBuyers = rows, key >= 0, state >= 0, buyer >= 0
	case "deductions":
		b.Deductions = rows
	default:
		b.Levels = []Level{}
		for _, row := range rows {
			b.Levels = append(b.Levels, Level{row.Product, row.Pieces})
		}
	}
	return nil
}

func notNull(text string) string {
	if text == shop.Null {
		return ""
	}
	return text
}
