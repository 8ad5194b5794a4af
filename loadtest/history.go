package loadtest

import (
	"strconv"
	"time"
)

// History is what a run sent and was told. It is not safe for concurrent use.
type History struct {
	// Run names the run; the keys of its orders begin with it.
	Run     string
	Path    Path
	Started time.Time
	// Elapsed is how long orders were sent and awaited; Warmup of it was not to be measured.
	Elapsed, Warmup time.Duration
	// Window is the end of the measured time: Duration where the run had one, else
	// the last first answer. Late repeats and cancellations may come after it.
	Window time.Duration
	// Timeout is that of each call: work that a call began may go on for about as long.
	Timeout time.Duration
	Seed    uint64
	Goods   []Goods
	// Calls are sorted by the time at which they were sent.
	Calls []Call

	items itemLists
}

// Orders returns how many order numbers the run used, from 0 up. A run that was
// stopped may have left out some of them.
func (h *History) Orders() int { return h.items.len() }

// Items returns the items of order n, by rising goods id. The caller must not change them.
func (h *History) Items(n int) []Item { return h.items.at(n) }

// Key returns the idempotency key of order n or, on PathDeduct, its flag.
func (h *History) Key(n int) string { return string(h.appendKey(nil, n)) }

func (h *History) appendKey(b []byte, n int) []byte {
	if h.Path == PathDeduct {
		b = append(b, DirectPrefix...)
	}
	b = append(b, h.Run...)
	b = append(b, '-')
	return strconv.AppendInt(b, int64(n), 10)
}

// opOf returns the order that key belongs to, or -1 where it is none of this run's.
func (h *History) opOf(key string) int {
	prefix := len(h.Run) + 1
	if h.Path == PathDeduct {
		if len(key) < len(DirectPrefix) || key[:len(DirectPrefix)] != DirectPrefix {
			return -1
		}
		key = key[len(DirectPrefix):]
	}
	if len(key) <= prefix || key[:prefix-1] != h.Run || key[prefix-1] != '-' {
		return -1
	}
	n, err := strconv.Atoi(key[prefix:])
	if err != nil || n < 0 || n >= h.Orders() {
		return -1
	}
	return n
}

// prices returns the price that the run gave to each of its goods.
func (h *History) prices() map[int64]int64 {
	m := make(map[int64]int64, len(h.Goods))
	for _, g := range h.Goods {
		m[g.ID] = g.Price
	}
	return m
}

// itemLists keeps many short lists in two slices: a million orders make no
// work for the garbage collector.
type itemLists struct {
	ends []uint32
	flat []Item
}

func (l *itemLists) len() int { return len(l.ends) }

func (l *itemLists) at(n int) []Item {
	start := uint32(0)
	if n > 0 {
		start = l.ends[n-1]
	}
	return l.flat[start:l.ends[n]:l.ends[n]]
}

func (l *itemLists) append(items []Item) {
	l.flat = append(l.flat, items...)
	l.ends = append(l.ends, uint32(len(l.flat)))
	sortItems(l.flat[len(l.flat)-len(items):])
}

func sortItems(items []Item) {
	for i := 1; i < len(items); i++ { // short lists, mostly one to three
		for j := i; j > 0 && items[j].GoodsID < items[j-1].GoodsID; j-- {
			items[j], items[j-1] = items[j-1], items[j]
		}
	}
}

func sameItems(a, b []Item) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// appendBody writes the body of an order or a deduction as it goes over the wire.
func appendBody(b []byte, items []Item) []byte {
	b = append(b, `{"items":[`...)
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"goods_id":"`...)
		b = strconv.AppendInt(b, it.GoodsID, 10)
		b = append(b, `","num":`...)
		b = strconv.AppendInt(b, it.Num, 10)
		b = append(b, '}')
	}
	return append(b, `]}`...)
}
