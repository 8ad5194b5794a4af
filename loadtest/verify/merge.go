package verify

import (
	"bytes"
	"iter"
	"strconv"
)

// sources are the five tables with flags, each sorted by flag, and the flags of the orders listed as deleted.
type sources struct {
	operations iter.Seq2[OperationRow, error]
	flows      iter.Seq2[FlowRow, error]
	restocks   iter.Seq2[RestockRow, error]
	orders     iter.Seq2[OrderRow, error]
	items      iter.Seq2[ItemRow, error]
	pruned     map[string]bool
}

// entries merges the tables. It begins them in the order of the fields.
func (s *sources) entries(yield func(*Entry, error) bool) {
	e := &Entry{}
	tables := []*cursor{
		pull(s.operations, &e.Operations, func(r *OperationRow) []byte { return r.Flag }),
		pull(s.flows, &e.Flows, func(r *FlowRow) []byte { return r.Flag }),
		pull(s.restocks, &e.Restocks, func(r *RestockRow) []byte { return r.Flag }),
		pull(s.orders, &e.Orders, func(r *OrderRow) []byte { return decimal(r.ID) }),
		pull(s.items, &e.Items, func(r *ItemRow) []byte { return decimal(r.Order) }),
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
		e.Flag, e.Pruned = least.flag, s.pruned[string(least.flag)]
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

func pull[T any](table iter.Seq2[T, error], taken *[]T, flagOf func(*T) []byte) *cursor {
	next, stop := iter.Pull2(table)
	c := &cursor{stop: stop}
	var row T
	c.next = func() (err error) {
		row, err, c.more = next()
		c.flag = flagOf(&row)
		return err
	}
	c.take = func(flag []byte) error {
		*taken = (*taken)[:0]
		for c.more && bytes.Equal(c.flag, flag) {
			*taken = append(*taken, row)
			if err := c.next(); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}
