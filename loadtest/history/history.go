// Package history is the record of a load test: each call that a run made, with its times and its
// answer. A History is written to a file and read back, and measured into a Report.
package history

import (
	"strconv"
	"strings"
	"time"
)

// Path is the way that orders take through the services.
type Path string

const (
	// PathOrder sends orders to the order service.
	PathOrder Path = "order"
	// PathDeduct sends deductions to the stock service alone, without an order. Their flags begin with DirectPrefix.
	PathDeduct Path = "deduct"
)

// DirectPrefix begins the flag of each deduction that the load tester sends without an order.
// No order's flag begins so, because those are decimal numbers.
const DirectPrefix = "direct-"

// MaxOrders is the largest number of orders that one run may send.
const MaxOrders = 50_000_000

// History is what a run sent and what it was told. It is not safe for concurrent use.
type History struct {
	// Run names the run. The keys of its orders begin with it.
	Run     string
	Path    Path
	Started time.Time
	// Elapsed is how long orders were sent and awaited. The first Warmup of it is not measured.
	Elapsed, Warmup time.Duration
	// Window is the end of the measured time: the configured duration of the run, or, if it had none,
	// the last first answer. Late repeats and cancellations may come after it.
	Window time.Duration
	// Timeout bounds each call. A service may work on a call for about as long.
	Timeout time.Duration
	Seed    uint64
	Goods   []Goods
	// Calls are sorted by the time at which they were sent.
	Calls []Call

	items itemLists
}

// AddOrder appends the items of the next order, in any order of products.
func (h *History) AddOrder(items []Item) { h.items.append(items) }

// Orders returns how many order numbers the run used, from 0 up. A run that was stopped may have
// skipped some of them.
func (h *History) Orders() int { return h.items.len() }

// Items returns the items of order n, by rising goods id. The caller must not change them.
func (h *History) Items(n int) []Item { return h.items.at(n) }

// Key returns the idempotency key of order n or, on PathDeduct, its flag.
func (h *History) Key(n int) string { return string(h.AppendKey(nil, n)) }

// AppendKey appends Key(n) to b. It is safe for concurrent use.
func (h *History) AppendKey(b []byte, n int) []byte {
	if h.Path == PathDeduct {
		b = append(b, DirectPrefix...)
	}
	b = append(b, h.Run...)
	b = append(b, '-')
	return strconv.AppendInt(b, int64(n), 10)
}

// OrderOf returns the number of the order that key belongs to, or -1 if it is not one of this run's.
func (h *History) OrderOf(key string) int {
	prefix := h.Run + "-"
	if h.Path == PathDeduct {
		prefix = DirectPrefix + prefix
	}
	number, ours := strings.CutPrefix(key, prefix)
	n, err := strconv.Atoi(number)
	if !ours || err != nil || n < 0 || n >= h.Orders() {
		return -1
	}
	return n
}

// RestockFlag returns the flag under which the run stocked Goods[i].
func (h *History) RestockFlag(i int) string { return "restock-" + h.Run + "-" + strconv.Itoa(i) }
