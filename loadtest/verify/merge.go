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
	tables := []cursor{
		pull(s.operations, &e.Operations, func(r *OperationRow) []byte { return r.Flag }),
		pull(s.flows, &e.Flows, func(r *FlowRow) []byte { return r.Flag }),
		pull(s.restocks, &e.Restocks, func(r *RestockRow) []byte { return r.Flag }),
		pull(s.orders, &e.Orders, func(r *OrderRow) []byte { return decimal(r.ID) }),
		pull(s.items, &e.Items, func(r *ItemRow) []byte { return decimal(r.Order) }),
	}
	for _, t := range tables {
		defer t.close()
	}
	for _, t := range tables {
		if err := t.next(); err != nil {
			yield(nil, err)
			return
		}
	}
	for {
		var least []byte
		more := false
		for _, t := range tables {
			if flag, ok := t.flag(); ok && (!more || bytes.Compare(flag, least) < 0) {
				least, more = flag, true
			}
		}
		if !more {
			return
		}
		e.Flag, e.Pruned = least, s.pruned[string(least)]
		for _, t := range tables {
			if err := t.take(least); err != nil {
				yield(nil, err)
				return
			}
		}
		if !yield(e, nil) {
			return
		}
	}
}

// decimal returns the flag of an order.
func decimal(order int64) []byte { return strconv.AppendInt(nil, order, 10) }

// cursor is a position in a table.
type cursor interface {
	// flag returns the flag of the current row, if there is one.
	flag() (_ []byte, ok bool)
	// next moves to the next row.
	next() error
	// take moves the rows under a flag, from the current one on, into the entry.
	take(flag []byte) error
	close()
}

// rowCursor is the cursor on a table with rows of type T.
type rowCursor[T any] struct {
	pull   func() (T, error, bool)
	stop   func()
	flagOf func(*T) []byte
	row    T
	ok     bool
	taken  *[]T
}

func pull[T any](table iter.Seq2[T, error], taken *[]T, flagOf func(*T) []byte) *rowCursor[T] {
	next, stop := iter.Pull2(table)
	return &rowCursor[T]{pull: next, stop: stop, flagOf: flagOf, taken: taken}
}

func (c *rowCursor[T]) flag() ([]byte, bool) {
	if !c.ok {
		return nil, false
	}
	return c.flagOf(&c.row), true
}

func (c *rowCursor[T]) next() (err error) {
	c.row, err, c.ok = c.pull()
	return err
}

func (c *rowCursor[T]) take(flag []byte) error {
	*c.taken = (*c.taken)[:0]
	for c.ok && bytes.Equal(c.flagOf(&c.row), flag) {
		*c.taken = append(*c.taken, c.row)
		if err := c.next(); err != nil {
			return err
		}
	}
	return nil
}

func (c *rowCursor[T]) close() { c.stop() }
