package history

import (
	"cmp"
	"slices"
)

// PricedItem is a line of an order in an answer. Price is 0 in the stock service's answers, which have none.
type PricedItem struct {
	GoodsID int64 `json:"goods_id,string"`
	Num     int64 `json:"num"`
	Price   int64 `json:"price,omitzero"`
}

// NamedItems identifies the items that an answer named. Nearly all answers named the items that were sent, at prices
// that many others have, and then they take no memory.
type NamedItems uint32

const (
	// NoItems: the answer had no items.
	NoItems NamedItems = iota
	// ItemsAsSent: the answer had the items of the order and, on PathOrder, the first prices of the run's products.
	// ItemsAsSent+1+i stands for the same items at the prices of History.prices[i].
	ItemsAsSent

	otherItems = ItemsAsSent + mostPrices + 1 // otherItems+i: the items are History.named[i]
)

// mostPrices is how many sets of changed prices a history keeps. A run has fewer, unless a service makes prices up.
const mostPrices = 100

// asSent reports whether the items named are the ones that were sent.
func (h *History) asSent(id NamedItems) bool {
	return id >= ItemsAsSent && int(id-ItemsAsSent) <= len(h.prices)
}

// priced returns an item with its price in an answer that is asSent; the stock service's have none.
func (h *History) priced(id NamedItems, kind Kind, it Item) PricedItem {
	i, ours := h.Product(it.GoodsID)
	if !ours || h.Path != PathOrder || kind == ReadLedger {
		return PricedItem{it.GoodsID, it.Num, 0}
	}
	price := h.Goods[i].Price
	if id > ItemsAsSent {
		price = cmp.Or(h.prices[id-ItemsAsSent-1][it.GoodsID], price)
	}
	return PricedItem{it.GoodsID, it.Num, price}
}

// Identify returns what identifies the items named, in their order, of an answer to a call of that kind. Sent are the
// items of the order, by ascending goods id.
func (h *History) Identify(kind Kind, sent []Item, named []PricedItem) NamedItems {
	if len(named) == 0 {
		return NoItems
	}
	id := ItemsAsSent
	for ; h.asSent(id); id++ {
		if h.Says(id, kind, sent, named) {
			return id
		}
	}
	if known := len(h.prices); known < mostPrices {
		prices := make(map[int64]int64, len(named))
		for _, it := range named {
			prices[it.GoodsID] = it.Price
		}
		h.prices = append(h.prices, prices)
		if h.Says(id, kind, sent, named) {
			return id
		}
		h.prices = h.prices[:known]
	}
	h.named = append(h.named, slices.Clone(named))
	return otherItems + NamedItems(len(h.named)-1)
}

// Says reports whether an answer to a call of that kind has the items named. Sent is as for Identify.
func (h *History) Says(id NamedItems, kind Kind, sent []Item, named []PricedItem) bool {
	if !h.asSent(id) {
		return slices.Equal(named, h.other(id))
	}
	return slices.EqualFunc(named, sent, func(it PricedItem, of Item) bool { return it == h.priced(id, kind, of) })
}

// Named returns the items that an answer to a call of that kind for order n named.
func (h *History) Named(id NamedItems, kind Kind, n int) []PricedItem {
	if !h.asSent(id) {
		return h.other(id)
	}
	items := h.Items(n)
	named := make([]PricedItem, len(items))
	for i, it := range items {
		named[i] = h.priced(id, kind, it)
	}
	return named
}

// other returns the items named that are not asSent.
func (h *History) other(id NamedItems) []PricedItem {
	if id < otherItems || int(id-otherItems) >= len(h.named) {
		return nil
	}
	return h.named[id-otherItems]
}

// Reason identifies the reason in an answer. There are few different ones. 0 is none.
type Reason uint32

// Reasoned returns the Reason with that text.
func (h *History) Reasoned(text string) Reason {
	if text == "" {
		return 0
	}
	i := slices.Index(h.reasons, text)
	if i < 0 {
		i = len(h.reasons)
		h.reasons = append(h.reasons, text)
	}
	return Reason(i + 1)
}

// Reason returns the reason in a call's answer.
func (h *History) Reason(c *Call) string { return h.reason(c.Reason) }

func (h *History) reason(r Reason) string {
	if r == 0 || int(r) > len(h.reasons) {
		return ""
	}
	return h.reasons[r-1]
}
