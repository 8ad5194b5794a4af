package history

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"orderstock/pkg/operation"
)

// Goods is a product that the run created.
type Goods struct {
	ID int64 `json:"id,string"`
	// Stock is the number of pieces it started with.
	Stock int64 `json:"stock"`
	// Price is the price of one piece in minor units.
	Price int64 `json:"price"`
}

// A run stocks the product Repriced again in its middle, MorePieces times by one piece: at a higher price, then at
// NewPrice, which is lower, under NewName, and then two or one of them twice at once, which leaves both. The product
// has so many pieces fewer at first, so that in the end there are as many as asked.
const (
	Repriced   = 0
	MorePieces = 8
)

// Promised returns the pieces of all products that the run is to sell, also if they come in its middle.
func (h *History) Promised() (pieces int64) {
	for _, g := range h.Goods {
		pieces += g.Stock
	}
	if h.Reprices {
		pieces += MorePieces
	}
	return pieces
}

// NewPrice returns the price of the product Repriced after its changes.
func (h *History) NewPrice() int64 { return h.Goods[Repriced].Price + 51 }

// NewName returns the name of the product Repriced after its changes: as long as one may be, in letters of two bytes.
func (h *History) NewName() string {
	name := h.GoodsName() + " "
	return name + strings.Repeat("\u00fc", longestName-len(name))
}

// longestName is how many characters the services allow.
const longestName = 100

// Restock returns the run's restock of Goods[i].
func (h *History) Restock(i int) operation.Restock {
	name, g := h.GoodsName(), h.Goods[i]
	return operation.Restock{Flag: h.RestockFlag(i), GoodsID: g.ID, Num: g.Stock, Name: &name, Price: &g.Price}
}

// More returns restock k in the middle of the run.
func (h *History) More(k int) operation.Restock {
	r := operation.Restock{Flag: "more-" + h.Run + "-" + strconv.Itoa(k), GoodsID: h.Goods[Repriced].ID, Num: 1}
	name, price := h.NewName(), h.NewPrice()
	switch k {
	case 0:
		price += 102
		r.Price = &price
	case 1:
		r.Name, r.Price = &name, &price
	}
	return r
}

// Item is one line of an order.
type Item = operation.Item

// SortItems sorts items by goods id, ascending.
func SortItems(items []Item) {
	slices.SortFunc(items, func(a, b Item) int { return cmp.Compare(a.GoodsID, b.GoodsID) })
}

// AppendBody appends the JSON body of an order or a deduction, as sent to a service, to b.
func AppendBody(b []byte, items []Item) []byte {
	b = append(b, `{"items":[`...)
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"goods_id":"`...)
		b = strconv.AppendInt(b, it.GoodsID, 10)
		b = append(b, `","num":`...)
		b = strconv.AppendInt(b, it.Num, 10)
		b = append(b, '}')
	}
	return append(b, `]}`...)
}

// BodyHash returns the order service's hash of a request's items: SHA-256 of "goods:num," for each item, by ascending
// goods id. Requests with the same hash have the same items.
func BodyHash(items []Item) [sha256.Size]byte {
	text := make([]byte, 0, 256)
	for _, it := range items {
		text = strconv.AppendInt(text, it.GoodsID, 10)
		text = append(text, ':')
		text = strconv.AppendInt(text, it.Num, 10)
		text = append(text, ',')
	}
	return sha256.Sum256(text)
}

// itemLists keeps many short lists in two slices, so that a million orders are two objects for the garbage collector.
type itemLists struct {
	spans []span
	flat  []Item
}

// span is the part of itemLists.flat that one list has.
type span struct{ start, end uint32 }

func (l *itemLists) len() int { return len(l.spans) }

// at returns list n, or nil if it is empty or not there.
func (l *itemLists) at(n int) []Item {
	if n >= len(l.spans) || l.spans[n].start == l.spans[n].end {
		return nil
	}
	return l.flat[l.spans[n].start:l.spans[n].end:l.spans[n].end]
}

func (l *itemLists) append(items []Item) {
	start := len(l.flat)
	l.flat = append(l.flat, items...)
	l.spans = append(l.spans, span{uint32(start), uint32(len(l.flat))})
	SortItems(l.flat[start:])
}

// grow appends empty lists until there are n.
func (l *itemLists) grow(n int) {
	for len(l.spans) < n {
		l.spans = append(l.spans, span{})
	}
}

// put sets list n, which must be there and empty.
func (l *itemLists) put(n int, items []Item) {
	start := uint32(len(l.flat))
	l.flat = append(l.flat, items...)
	l.spans[n] = span{start, uint32(len(l.flat))}
}
