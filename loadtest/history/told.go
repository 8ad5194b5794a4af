package history

import "slices"

// PricedItem is a line of an order in an answer. Price is 0 in the stock service's answers, which have none.
type PricedItem struct {
	Item
	Price int64
}

// Told identifies the items in an answer. Nearly all answers have the items that were sent, and those take no memory.
type Told uint32

const (
	// ToldNothing: the answer had no items.
	ToldNothing Told = iota
	// ToldAsSent: the answer had the items of the order and, on PathOrder, the prices of the run's products.
	ToldAsSent

	toldOther // and above: an index into History.told
)

// AsSent returns the items of order n as a correct answer to a call of that kind lists them.
func (h *History) AsSent(kind Kind, n int) []PricedItem {
	items := h.Items(n)
	named := make([]PricedItem, len(items))
	for i, it := range items {
		named[i] = PricedItem{it, h.price(kind, it.GoodsID)}
	}
	return named
}

// price returns the price of a product in answers; the stock service's have none.
func (h *History) price(kind Kind, goods int64) int64 {
	if i, ours := h.Product(goods); ours && h.Path == PathOrder && kind != ReadLedger {
		return h.Goods[i].Price
	}
	return 0
}

// Tell returns the Told of an answer to a call of that kind with the items named, in their order. Sent are the items of
// the order, by ascending goods id.
func (h *History) Tell(kind Kind, sent []Item, named []PricedItem) Told {
	same := len(named) == len(sent)
	for i := 0; same && i < len(sent); i++ {
		same = named[i] == PricedItem{sent[i], h.price(kind, sent[i].GoodsID)}
	}
	switch {
	case len(named) == 0:
		return ToldNothing
	case same:
		return ToldAsSent
	}
	h.told = append(h.told, slices.Clone(named))
	return toldOther + Told(len(h.told)-1)
}

// ToldItems returns the items in a call's answer.
func (h *History) ToldItems(c *Call) []PricedItem { return h.toldItems(c.Told, c.Kind, int(c.Op)) }

func (h *History) toldItems(told Told, kind Kind, n int) []PricedItem {
	switch {
	case told == ToldNothing:
		return nil
	case told == ToldAsSent:
		return h.AsSent(kind, n)
	case int(told-toldOther) < len(h.told):
		return h.told[told-toldOther]
	}
	return nil
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
func (h *History) Reason(c *Call) string {
	if c.Reason == 0 || int(c.Reason) > len(h.reasons) {
		return ""
	}
	return h.reasons[c.Reason-1]
}
