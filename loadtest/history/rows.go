package history

import (
	"cmp"
	"slices"
)

// Row is a flow row in an answer: a signed number of pieces of a product.
type Row struct {
	Kind    string `json:"kind"`
	GoodsID int64  `json:"goods_id,string"`
	Num     int64  `json:"num"`
}

// Rows identifies the flow rows in an answer. Nearly all are as the items that were sent require, and take no memory.
type Rows uint32

const (
	// NoRows: the answer had no flow rows.
	NoRows Rows = iota
	// Deducted: it had one row "deduct" for each item.
	Deducted
	// GivenBack: it had one row "deduct" and one row "restore" for each item.
	GivenBack

	otherRows // and above: an index into History.rows
)

// SortRows sorts flow rows by product, then kind.
func SortRows(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.GoodsID, b.GoodsID), cmp.Compare(a.Kind, b.Kind))
	})
}

// rowsOf returns the flow rows that the items require, by product, then kind.
func rowsOf(rows Rows, items []Item) (all []Row) {
	for _, it := range items {
		all = append(all, Row{"deduct", it.GoodsID, -it.Num})
		if rows == GivenBack {
			all = append(all, Row{"restore", it.GoodsID, it.Num})
		}
	}
	return all
}

// SawRows returns the Rows of an answer with these flow rows. Sent are the items of the order, by ascending goods id.
func (h *History) SawRows(sent []Item, rows []Row) Rows {
	switch {
	case len(rows) == 0:
		return NoRows
	case slices.Equal(rows, rowsOf(Deducted, sent)):
		return Deducted
	case slices.Equal(rows, rowsOf(GivenBack, sent)):
		return GivenBack
	}
	h.rows = append(h.rows, slices.Clone(rows))
	return otherRows + Rows(len(h.rows)-1)
}

// FlowRows returns the flow rows in a call's answer.
func (h *History) FlowRows(c *Call) []Row {
	switch {
	case c.Rows == Deducted || c.Rows == GivenBack:
		return rowsOf(c.Rows, h.Items(int(c.Op)))
	case c.Rows >= otherRows && int(c.Rows-otherRows) < len(h.rows):
		return h.rows[c.Rows-otherRows]
	}
	return nil
}
