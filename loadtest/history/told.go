package history

import "slices"

// PricedItem is a line of an order in an answer. Price is 0 in the stock service's answers, which have none.
type PricedItem struct {
	GoodsID int64 `json:"goods_id,string"`
	Num     int64 `json:"num"`
	Price   int64 `json:"price,omitzero"`
}

// Told identifies the items in an answer. Nearly all answers have the items that were sent, and those take no memory.
type Told uint32

const (
	// ToldNothing: the answer had no items.
	ToldNothing Told = iota
	// ToldAsSent: the answer had the items of the order and, on PathOrder, the first prices of the run's products.
	ToldAsSent
	// ToldRepriced: the same with NewPrice, for an order of the product Repriced.
	ToldRepriced

	// ToldPaid stands for the prices in the books. No answer has it.
	ToldPaid

	toldOther // and above: an index into History.told
)

// priced returns an item with its price in an answer that is ToldAsSent or ToldRepriced; the stock service's have none.
func (h *History) priced(told Told, kind Kind, it Item) PricedItem {
	i, ours := h.Product(it.GoodsID)
	switch {
	case !ours || h.Path != PathOrder || kind == ReadLedger:
		return PricedItem{it.GoodsID, it.Num, 0}
	case told == ToldRepriced && i == Repriced:
		return PricedItem{it.GoodsID, it.Num, h.NewPrice()}
	}
	return PricedItem{it.GoodsID, it.Num, h.Goods[i].Price}
}

// Tell returns the Told of an answer to a call of that kind with the items named, in their order. Sent are the items of
// the order, by ascending goods id.
func (h *History) Tell(kind Kind, sent []Item, named []PricedItem) Told {
	if len(named) == 0 {
		return ToldNothing
	}
	for _, told := range []Told{ToldAsSent, ToldRepriced} {
		if h.Says(told, kind, sent, named) {
			return told
		}
	}
	h.told = append(h.told, slices.Clone(named))
	return toldOther + Told(len(h.told)-1)
}

// Says reports whether an answer to a call of that kind, that is ToldAsSent or ToldRepriced, has the items named.
func (h *History) Says(told Told, kind Kind, sent []Item, named []PricedItem) bool {
	same := len(named) == len(sent)
	for i := 0; same && i < len(sent); i++ {
		same = named[i] == h.priced(told, kind, sent[i])
	}
	return same
}

// ToldItems returns the items in a call's answer.
func (h *History) ToldItems(c *Call) []PricedItem { return h.Named(c.Told, c.Kind, int(c.Op)) }

// Named returns the items that an answer to a call of that kind for order n named.
func (h *History) Named(told Told, kind Kind, n int) []PricedItem {
	switch {
	case told == ToldNothing:
		return nil
	case told == ToldAsSent || told == ToldRepriced:
		items := h.Items(n)
		named := make([]PricedItem, len(items))
		for i, it := range items {
			named[i] = h.priced(told, kind, it)
		}
		return named
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
func (h *History) Reason(c *Call) string { return h.reason(c.Reason) }

func (h *History) reason(r Reason) string {
	if r == 0 || int(r) > len(h.reasons) {
		return ""
	}
	return h.reasons[r-1]
}
