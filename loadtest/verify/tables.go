package verify

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// Tables are books in memory: small ones, or ones to be changed.
type Tables struct {
	Orders     []OrderRow
	Items      []ItemRow
	Operations []OperationRow
	Flows      []FlowRow
	Restocks   []RestockRow
	Products   []ProductRow
	// Pruned are the flags of the orders listed as deleted.
	Pruned []string
	// At, Since and Until are those of Books.
	At           time.Time
	Since, Until int64
}

// Read reads both databases into memory.
func Read(ctx context.Context, d Databases) (*Tables, error) {
	db, err := open(d)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	defer db.close()
	books, done, err := db.books(ctx)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	defer done()
	t := &Tables{}
	books = t.record(books)
	for _, err := range books.Entries {
		if err != nil {
			return nil, fmt.Errorf("verify: %w", err)
		}
	}
	for _, err := range books.Products {
		if err != nil {
			return nil, fmt.Errorf("verify: %w", err)
		}
	}
	return t, nil
}

func (t *Tables) add(e *Entry) {
	t.Orders = append(t.Orders, e.Orders...)
	t.Items = append(t.Items, e.Items...)
	t.Operations = append(t.Operations, e.Operations...)
	t.Flows = append(t.Flows, e.Flows...)
	t.Restocks = append(t.Restocks, e.Restocks...)
	if e.Pruned {
		t.Pruned = append(t.Pruned, string(e.Flag))
	}
}

// Books returns the tables as books. It sorts the tables.
func (t *Tables) Books() Books {
	slices.SortStableFunc(t.Orders, func(a, b OrderRow) int { return compareDecimal(a.ID, b.ID) })
	slices.SortStableFunc(t.Items, func(a, b ItemRow) int {
		return cmp.Or(compareDecimal(a.Order, b.Order), cmp.Compare(a.GoodsID, b.GoodsID))
	})
	slices.SortStableFunc(t.Operations, func(a, b OperationRow) int { return bytes.Compare(a.Flag, b.Flag) })
	slices.SortStableFunc(t.Flows, func(a, b FlowRow) int {
		return cmp.Or(bytes.Compare(a.Flag, b.Flag), cmp.Compare(a.Goods, b.Goods), cmp.Compare(a.Kind, b.Kind))
	})
	slices.SortStableFunc(t.Restocks, func(a, b RestockRow) int {
		return cmp.Or(bytes.Compare(a.Flag, b.Flag), cmp.Compare(a.Goods, b.Goods))
	})
	s := &sources{
		orders: onePage(t.Orders), items: onePage(t.Items), operations: onePage(t.Operations), flows: onePage(t.Flows),
		restocks: onePage(t.Restocks), pruned: map[string]bool{},
	}
	for _, flag := range t.Pruned {
		s.pruned[flag] = true
	}
	return Books{Entries: s.entries, Products: onePage(t.Products), At: t.At, Since: t.Since, Until: t.Until}
}

// onePage yields a table in memory as one page.
func onePage[T any](table []T) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) { yield(table, nil) }
}
