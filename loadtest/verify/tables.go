package verify

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strconv"
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
}

// collect copies books into memory.
func collect(books Books) (*Tables, error) {
	t := &Tables{}
	for e, err := range books.Entries {
		if err != nil {
			return nil, err
		}
		t.Orders = copied(t.Orders, e.Orders)
		t.Items = copied(t.Items, e.Items)
		t.Operations = copied(t.Operations, e.Operations)
		t.Flows = copied(t.Flows, e.Flows)
		t.Restocks = copied(t.Restocks, e.Restocks)
		if e.Pruned {
			t.Pruned = append(t.Pruned, string(e.Flag))
		}
	}
	for p, err := range books.Products {
		if err != nil {
			return nil, err
		}
		t.Products = copied(t.Products, []ProductRow{*p})
	}
	return t, nil
}

func copied[T any, R interface {
	*T
	copy(from *T)
}](to, from []T) []T {
	for i := range from {
		var row T
		R(&row).copy(&from[i])
		to = append(to, row)
	}
	return to
}

// Clone returns a copy with its own slices of rows. Pointers in the rows are shared.
func (t *Tables) Clone() *Tables {
	return &Tables{
		Orders: slices.Clone(t.Orders), Items: slices.Clone(t.Items), Operations: slices.Clone(t.Operations),
		Flows: slices.Clone(t.Flows), Restocks: slices.Clone(t.Restocks), Products: slices.Clone(t.Products),
		Pruned: slices.Clone(t.Pruned),
	}
}

// Books returns the tables as books. It sorts the tables.
func (t *Tables) Books() Books {
	slices.SortStableFunc(t.Orders, func(a, b OrderRow) int { return compareFlags(a.ID, b.ID) })
	slices.SortStableFunc(t.Items, func(a, b ItemRow) int {
		return cmp.Or(compareFlags(a.Order, b.Order), cmp.Compare(a.GoodsID, b.GoodsID))
	})
	slices.SortStableFunc(t.Operations, func(a, b OperationRow) int { return bytes.Compare(a.Flag, b.Flag) })
	slices.SortStableFunc(t.Flows, func(a, b FlowRow) int {
		return cmp.Or(bytes.Compare(a.Flag, b.Flag), cmp.Compare(a.Goods, b.Goods), cmp.Compare(a.Kind, b.Kind))
	})
	slices.SortStableFunc(t.Restocks, func(a, b RestockRow) int {
		return cmp.Or(bytes.Compare(a.Flag, b.Flag), cmp.Compare(a.Goods, b.Goods))
	})
	pruned := map[string]bool{}
	for _, flag := range t.Pruned {
		pruned[flag] = true
	}
	return Books{
		Entries: func(yield func(*Entry, error) bool) {
			all := &sources{
				orders: &list[OrderRow]{t.Orders}, items: &list[ItemRow]{t.Items},
				operations: &list[OperationRow]{t.Operations}, flows: &list[FlowRow]{t.Flows},
				restocks: &list[RestockRow]{t.Restocks}, pruned: pruned,
			}
			all.entries()(yield)
		},
		Products: rowsOf(t.Products),
	}
}

// compareFlags compares two orders by their flags.
func compareFlags(a, b int64) int {
	if a == b {
		return 0
	}
	var room [2][20]byte
	return bytes.Compare(strconv.AppendInt(room[0][:0], a, 10), strconv.AppendInt(room[1][:0], b, 10))
}

func rowsOf(products []ProductRow) iter.Seq2[*ProductRow, error] {
	return func(yield func(*ProductRow, error) bool) {
		for i := range products {
			if !yield(&products[i], nil) {
				return
			}
		}
	}
}

// list is the source of a table in memory.
type list[T any] struct{ left []T }

func (l *list[T]) at() *T {
	if len(l.left) == 0 {
		return nil
	}
	return &l.left[0]
}

func (l *list[T]) next() error {
	l.left = l.left[1:]
	return nil
}
