package history

import "slices"

// PricedItem is a line of an order in an answer. Price is 0 in the stock service's answers, which have none.
type PricedItem struct {
	Item
	Price int64
}

// AnswerItems identifies the items in an answer. Nearly all answers have the items that were sent, and those take no
// memory.
type AnswerItems uint32

const (
	// NoItems: the answer had no items.
	NoItems AnswerItems = iota
	// ItemsAsSent: the answer had the items of the order and, on PathOrder, the prices of the run's products.
	ItemsAsSent

	otherItems // and above: an index into History.others
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

// RecordItems returns the AnswerItems of an answer with the items named, in their order. Sent are the items of the
// order, by ascending goods id.
func (h *History) RecordItems(sent []Item, named []PricedItem) AnswerItems {
	same := len(named) == len(sent)
	for i := 0; same && i < len(sent); i++ {
		same = named[i] == PricedItem{sent[i], h.price(sent[i].GoodsID)}
	}
	switch {
	case len(named) == 0:
		return NoItems
	case same:
		return ItemsAsSent
	}
	h.others = append(h.others, slices.Clone(named))
	return otherItems + AnswerItems(len(h.others)-1)
}

// ItemsIn returns the items in a call's answer.
func (h *History) ItemsIn(c *Call) []PricedItem {
	switch {
	case c.AnswerItems == NoItems:
		return nil
	case c.AnswerItems == ItemsAsSent:
		return h.AsSent(int(c.Op))
	case int(c.AnswerItems-otherItems) < len(h.others):
		return h.others[c.AnswerItems-otherItems]
	}
	return nil
}
