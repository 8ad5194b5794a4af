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

// Told identifies the items in an answer. In nearly all answers they are the items that were sent, at prices that many
// other answers have, and then they take no memory.
type Told uint32

const (
	// ToldNothing: the answer had no items.
	ToldNothing Told = iota
	// ToldAsSent: the answer had the items of the order and, on PathOrder, the first prices of the run's products.
	// ToldAsSent+1+i stands for the same items at the prices of History.prices[i].
	ToldAsSent

	toldOther = ToldAsSent + mostPrices + 1 // toldOther+i: the items are History.told[i]
)

// mostPrices is how many sets of changed prices a history keeps. A run has fewer, unless a service makes prices up.
const mostPrices = 100

// asSent reports whether a Told has the items that were sent.
func (h *History) asSent(told Told) bool {
	return told >= ToldAsSent && int(told-ToldAsSent) <= len(h.prices)
}

// priced returns an item with its price in an answer that is asSent; the stock service's have none.
func (h *History) priced(told Told, kind Kind, it Item) PricedItem {
	i, ours := h.Product(it.GoodsID)
	if !ours || h.Path != PathOrder || kind == ReadLedger {
		return PricedItem{it.GoodsID, it.Num, 0}
	}
	price := h.Goods[i].Price
	if told > ToldAsSent {
		price = cmp.Or(h.prices[told-ToldAsSent-1][it.GoodsID], price)
	}
	return PricedItem{it.GoodsID, it.Num, price}
}

// Tell returns the Told of an answer to a call of that kind with the items named, in their order. Sent are the items of
// the order, by ascending goods id.
func (h *History) Tell(kind Kind, sent []Item, named []PricedItem) Told {
	if len(named) == 0 {
		return ToldNothing
	}
	told := ToldAsSent
	for ; h.asSent(told); told++ {
		if h.Says(told, kind, sent, named) {
			return told
		}
	}
	if known := len(h.prices); known < mostPrices {
		prices := make(map[int64]int64, len(named))
		for _, it := range named {
			prices[it.GoodsID] = it.Price
		}
		h.prices = append(h.prices, prices)
		if h.Says(told, kind, sent, named) {
			return told
		}
		h.prices = h.prices[:known]
	}
	h.told = append(h.told, slices.Clone(named))
	return toldOther + Told(len(h.told)-1)
}

// Says reports whether an answer to a call of that kind has the items named. Sent is as for Tell.
func (h *History) Says(told Told, kind Kind, sent []Item, named []PricedItem) bool {
	if !h.asSent(told) {
		return slices.Equal(named, h.other(told))
	}
	return slices.EqualFunc(named, sent, func(it PricedItem, of Item) bool { return it == h.priced(told, kind, of) })
}

// ToldItems returns the items in a call's answer.
func (h *History) ToldItems(c *Call) []PricedItem { return h.Named(c.Told, c.Kind, int(c.Op)) }

// Named returns the items that an answer to a call of that kind for order n named.
func (h *History) Named(told Told, kind Kind, n int) []PricedItem {
	if !h.asSent(told) {
		return h.other(told)
	}
	items := h.Items(n)
	named := make([]PricedItem, len(items))
	for i, it := range items {
		named[i] = h.priced(told, kind, it)
	}
	return named
}

// other returns the items that a Told has that is not asSent.
func (h *History) other(told Told) []PricedItem {
	if told < toldOther || int(told-toldOther) >= len(h.told) {
		return nil
	}
	return h.told[told-toldOther]
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
