// Package history is the record of a load test: each call of a run, with its times and its answer. A History is written
// to a file and read back, and measured into a Report.
package history

import (
	"bytes"
	"slices"
	"strconv"
	"time"
)

// Path is the route of orders through the services.
type Path string

const (
	// PathOrder sends orders to the order service.
	PathOrder Path = "order"
	// PathDeduct sends deductions to the stock service, without an order. Their flags begin with DirectPrefix.
	PathDeduct Path = "deduct"
)

// DirectPrefix begins the flag of each deduction sent without an order. No order's flag begins like this, since order
// ids are decimal numbers.
const DirectPrefix = "direct-"

// MaxOrders is the largest number of orders that one run may send.
const MaxOrders = 50_000_000

// History is the calls of a run and their answers. It is not safe for concurrent use. The tags are of the header of its
// file.
type History struct {
	// Run names the run. The keys of its orders begin with it.
	Run     string    `json:"run"`
	Path    Path      `json:"path"`
	Started time.Time `json:"started"`
	// Elapsed is how long orders were sent and awaited. Its first part, Warmup, is not measured.
	Elapsed time.Duration `json:"elapsed_us,format:micro"`
	Warmup  time.Duration `json:"warmup_us,format:micro"`
	// Window is the end of the measured time: the configured duration of the run or, without one, the last first answer.
	// Late repeats and cancellations may come after it.
	Window time.Duration `json:"window_us,format:micro"`
	// Timeout bounds each call. A service may work on a call for about that long.
	Timeout time.Duration `json:"timeout_us,format:micro"`
	// CancelAfter is the age from which the order service gives an unsettled order up; 0 if it is not known.
	CancelAfter time.Duration `json:"cancel_after_us,omitzero,format:micro"`
	// PriceTTL is how long the order service may use a price that it has read; 0 if it is not known.
	PriceTTL time.Duration `json:"price_ttl_us,omitzero,format:micro"`
	Seed     uint64        `json:"seed"`
	// Asked is the number of orders that the run was to send; 0 if unbounded.
	Asked int `json:"asked,omitzero"`
	// Library is true if a client library made the first calls. It may have sent each more than once.
	Library bool `json:"library,omitzero"`
	// Disturbed is true if something was broken or limited at times that are not known, so that any call may have to be
	// repeated.
	Disturbed bool `json:"disturbed,omitzero"`
	// Acts broke the system on purpose. They excuse calls.
	Acts []Act `json:"acts,omitempty"`
	// Breakable: acts may break something in the run, though none has to. Each order has a key, so
	// that it can be repeated, and a slow machine does not make the verdict unknown.
	Breakable bool `json:"breakable,omitzero"`
	// StepLimit is the shortest of the services' limits of a step of a call; 0 if it is not known, or above a second.
	StepLimit time.Duration `json:"step_limit_us,omitzero,format:micro"`
	// Interrupted is true if the run was ended before it had done all that it was to do.
	Interrupted bool `json:"interrupted,omitzero"`
	// Limited is true if the services limit the rate of calls.
	Limited bool `json:"limited,omitzero"`
	// Away lists when a service was seen to be away: nobody listened at its address, or it was not ready.
	Away []Away `json:"away,omitempty"`
	// Patience is how long each call without an end was repeated after the traffic; 0 if none was.
	Patience time.Duration `json:"patience_us,omitzero,format:micro"`
	// Strategy is the strategy of the stock services, if it is known.
	Strategy string `json:"strategy,omitzero"`
	// Odd is true if some orders have odd keys: see FormOf.
	Odd bool `json:"odd,omitzero"`
	// NotAsked are the rows of the grammar of odd calls that the run was too short to draw.
	NotAsked []string `json:"not_asked,omitempty"`
	// Goods are the run's products, by ascending id without gaps.
	Goods []Goods `json:"goods"`
	// Reprices is true while the run is to stock the product Repriced again. A file does not keep it.
	Reprices bool `json:"-"`
	// Calls are sorted by send time.
	Calls []Call `json:"-"`
	// Asides are the calls that concern no single order, sorted by send time.
	Asides []Aside `json:"-"`

	items   itemLists
	prices  []map[int64]int64 // by product id, for answers at other prices than the first: see NamedItems
	named   [][]PricedItem
	reasons []string
	rows    [][]Row
}

// Away is a time without the service at an address, from the start of the run.
type Away struct {
	Address string        `json:"address"`
	From    time.Duration `json:"from_us,format:micro"`
	To      time.Duration `json:"to_us,format:micro"`
	// Announced is true if the service had said before that it was not ready, as one does that stops gracefully. One that
	// crashes is away without a word.
	Announced bool `json:"announced,omitzero"`
}

// Act is a time with something broken on purpose, from the start of the run. It ends when all is healed and has no
// known effect any more, which may be after the run.
type Act struct {
	Cause string        `json:"cause"`
	From  time.Duration `json:"from_us,format:micro"`
	To    time.Duration `json:"to_us,format:micro"`
}

// Clone returns a copy whose Calls and Asides may be changed, and whose answers may be given other items, reasons and
// rows. The lists of orders on pages are shared.
func (h *History) Clone() *History {
	clone := *h
	clone.Calls, clone.Asides = slices.Clone(h.Calls), slices.Clone(h.Asides)
	clone.prices, clone.named = slices.Clip(h.prices), slices.Clip(h.named)
	clone.reasons, clone.rows = slices.Clip(h.reasons), slices.Clip(h.rows)
	return &clone
}

// AddOrder appends the items of the next order, in any order of products.
func (h *History) AddOrder(items []Item) { h.items.append(items) }

// Orders returns the number of order numbers used, counted from 0. A run that was stopped may have skipped some.
func (h *History) Orders() int { return h.items.len() }

// Items returns the items of order n, by ascending goods id. The caller must not change them.
func (h *History) Items(n int) []Item { return h.items.at(n) }

// RestockFlag returns the flag of the run's restock of Goods[i].
func (h *History) RestockFlag(i int) string { return "restock-" + h.Run + "-" + strconv.Itoa(i) }

// RestockOf returns the i for which flag is RestockFlag(i), or -1 if there is none.
func (h *History) RestockOf(flag []byte) int {
	i, err := strconv.Atoi(string(flag[bytes.LastIndexByte(flag, '-')+1:]))
	if err != nil || i < 0 || i >= len(h.Goods) || h.RestockFlag(i) != string(flag) {
		return -1
	}
	return i
}

// Product returns the i for which goods is the id of Goods[i], and whether there is one.
func (h *History) Product(goods int64) (i int, ours bool) {
	if len(h.Goods) == 0 || goods < h.Goods[0].ID || goods-h.Goods[0].ID >= int64(len(h.Goods)) {
		return 0, false
	}
	return int(goods - h.Goods[0].ID), true
}

// GoodsName returns the name of the run's products.
func (h *History) GoodsName() string { return "load test " + h.Run }
