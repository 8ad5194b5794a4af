package verify

import (
	"bytes"
	"iter"
	"strconv"
)

// sources are the five tables with flags, each sorted by flag and in pages, and the flags of the orders listed as
// deleted.
type sources struct {
	operations iter.Seq2[[]OperationRow, error]
	flows      iter.Seq2[[]FlowRow, error]
	restocks   iter.Seq2[[]RestockRow, error]
	orders     iter.Seq2[[]OrderRow, error]
	items      iter.Seq2[[]ItemRow, error]
	pruned     map[string]bool
}

// entries merges the tables. It begins them in the order of the fields.
func (s *sources) entries(yield func(*Entry, error) bool) {
	e := &Entry{}
	tables := []*cursor{
		pull(s.operations, &e.Operations, func(to []byte, r *OperationRow) []byte { return append(to, r.Flag...) }),
		pull(s.flows, &e.Flows, func(to []byte, r *FlowRow) []byte { return append(to, r.Flag...) }),
		pull(s.restocks, &e.Restocks, func(to []byte, r *RestockRow) []byte { return append(to, r.Flag...) }),
		pull(s.orders, &e.Orders, func(to []byte, r *OrderRow) []byte { return strconv.AppendInt(to, r.ID, 10) }),
		pull(s.items, &e.Items, func(to []byte, r *ItemRow) []byte { return strconv.AppendInt(to, r.Order, 10) }),
	}
	for _, t := range tables {
		defer t.stop()
	}
	for _, t := range tables {
		if err := t.next(); err != nil {
			yield(nil, err)
			return
		}
	}
	for {
		var least *cursor
		for _, t := range tables {
			if t.more && (least == nil || bytes.Compare(t.flag, least.flag) < 0) {
				least = t
			}
		}
		if least == nil {
			return
		}
		e.Flag, e.Pruned = append(e.Flag[:0], least.flag...), s.pruned[string(least.flag)]
		for _, t := range tables {
			if err := t.take(e.Flag); err != nil {
				yield(nil, err)
				return
			}
		}
		if !yield(e, nil) {
			return
		}
	}
}

// compareDecimal compares the flags of two orders.
func compareDecimal(a, b int64) int {
	var x, y [20]byte
	return bytes.Compare(strconv.AppendInt(x[:0], a, 10), strconv.AppendInt(y[:0], b, 10))
}

// decimal returns the flag of an order.
func decimal(order int64) []byte { return strconv.AppendInt(nil, order, 10) }

// cursor is a position in a table.
type cursor struct {
	// flag is the flag of the current row, if there is one more.
	flag []byte
	more bool
	// next moves to the next row.
	next func() error
	// take moves the rows under a flag, from the current one on, into the entry.
	take func(flag []byte) error
	stop func()
}

// pull returns the beginning of a table, whose rows go to taken. flag appends the flag of a row.
func pull[T any](table iter.Seq2[[]T, error], taken *[]T, flag func(to []byte, row *T) []byte) *cursor {
	next, stop := iter.Pull2(table)
	c := &cursor{stop: stop, more: true}
	var page []T // from the current row on
	c.next = func() (err error) {
		for page = page[min(1, len(page)):]; len(page) == 0 && c.more && err == nil; {
			page, err, c.more = next()
		}
		if c.more && err == nil {
			c.flag = flag(c.flag[:0], &page[0])
		}
		return err
	}
	c.take = func(flag []byte) error {
		*taken = (*taken)[:0]
		for c.more && bytes.Equal(c.flag, flag) {
			*taken = append(*taken, page[0])
			if err := c.next(); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}
