package verify

import (
	"bytes"
	"fmt"
	"iter"
	"strconv"
)

// source yields rows one by one. A row is valid until next is called.
type source[T any] interface {
	// at returns the current row, or nil after the last.
	at() *T
	// next moves to the next row.
	next() error
}

// sources are the five tables with flags, each sorted by flag.
type sources struct {
	orders     source[OrderRow]
	items      source[ItemRow]
	operations source[OperationRow]
	flows      source[FlowRow]
	restocks   source[RestockRow]
	pruned     map[string]bool
}

// entries merges the tables.
func (s *sources) entries() iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		m := merge{sources: s}
		for {
			more, err := m.gather()
			if err != nil {
				yield(nil, fmt.Errorf("read databases: %w", err))
				return
			}
			if !more || !yield(&m.entry, nil) {
				return
			}
		}
	}
}

type merge struct {
	*sources
	entry                Entry
	orderFlag, itemsFlag []byte
}

// gather collects the rows under the lowest flag that is left.
func (m *merge) gather() (more bool, err error) {
	var flag []byte
	least := func(candidate []byte) {
		if !more || bytes.Compare(candidate, flag) < 0 {
			flag, more = candidate, true
		}
	}
	if r := m.orders.at(); r != nil {
		m.orderFlag = strconv.AppendInt(m.orderFlag[:0], r.ID, 10)
		least(m.orderFlag)
	}
	if r := m.items.at(); r != nil {
		m.itemsFlag = strconv.AppendInt(m.itemsFlag[:0], r.Order, 10)
		least(m.itemsFlag)
	}
	if r := m.operations.at(); r != nil {
		least(r.Flag)
	}
	if r := m.flows.at(); r != nil {
		least(r.Flag)
	}
	if r := m.restocks.at(); r != nil {
		least(r.Flag)
	}
	if !more {
		return false, nil
	}
	e := &m.entry
	e.Flag = append(e.Flag[:0], flag...)
	e.Pruned = m.pruned[string(e.Flag)]
	if e.Orders, err = take(e.Orders, m.orders, func(r *OrderRow) bool {
		m.orderFlag = strconv.AppendInt(m.orderFlag[:0], r.ID, 10)
		return bytes.Equal(m.orderFlag, e.Flag)
	}); err != nil {
		return false, err
	}
	if e.Items, err = take(e.Items, m.items, func(r *ItemRow) bool {
		m.itemsFlag = strconv.AppendInt(m.itemsFlag[:0], r.Order, 10)
		return bytes.Equal(m.itemsFlag, e.Flag)
	}); err != nil {
		return false, err
	}
	if e.Operations, err = take(e.Operations, m.operations,
		func(r *OperationRow) bool { return bytes.Equal(r.Flag, e.Flag) }); err != nil {
		return false, err
	}
	if e.Flows, err = take(e.Flows, m.flows, func(r *FlowRow) bool { return bytes.Equal(r.Flag, e.Flag) }); err != nil {
		return false, err
	}
	e.Restocks, err = take(e.Restocks, m.restocks, func(r *RestockRow) bool { return bytes.Equal(r.Flag, e.Flag) })
	return true, err
}

// take moves the rows of the entry from a source to list, and reuses its memory.
func take[T any, R interface {
	*T
	copy(from *T)
}](list []T, from source[T], belongs func(*T) bool) ([]T, error) {
	list = list[:0]
	for {
		r := from.at()
		if r == nil || !belongs(r) {
			return list, nil
		}
		if len(list) < cap(list) {
			list = list[:len(list)+1]
		} else {
			var zero T
			list = append(list, zero)
		}
		R(&list[len(list)-1]).copy(r)
		if err := from.next(); err != nil {
			return nil, err
		}
	}
}
