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

// AsSent returns the items of order n as a correct answer lists them.
func (h *History) AsSent(n int) []PricedItem {
	items := h.Items(n)
	named := make([]PricedItem, len(items))
	for i, it := range items {
		named[i] = PricedItem{it, h.price(it.GoodsID)}
	}
	return named
}

// price returns the price of a product in answers.
func (h *History) price(goods int64) int64 {
	if i, ours := h.Product(goods); ours && h.Path == PathOrder {
		return h.Goods[i].Price
	}
	return 0
}

// Tell returns the Told of an answer with the items named, in their order. Sent are the items of the order, by
// ascending goods id.
func (h *History) Tell(sent []Item, named []PricedItem) Told {
	same := len(named) == len(sent)
	for i := 0; same && i < len(sent); i++ {
		same = named[i] == PricedItem{sent[i], h.price(sent[i].GoodsID)}
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
func (h *History) ToldItems(c *Call) []PricedItem {
	switch {
	case c.Told == ToldNothing:
		return nil
	case c.Told == ToldAsSent:
		return h.AsSent(int(c.Op))
	case int(c.Told-toldOther) < len(h.told):
		return h.told[c.Told-toldOther]
	}
	return nil
}
