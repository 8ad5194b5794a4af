package fire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/url"
	"slices"
	"time"

	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
)

// Target is the addresses of the services.
type Target struct {
	// OrderURLs and StockURLs are the base addresses of the services, http only. Calls go to the replicas round robin. The
	// stock service is needed on PathOrder too, to create the products.
	OrderURLs, StockURLs []string
	// StockToken is the bearer token of the stock service.
	StockToken string
	// CancelAfter is the order services' setting CANCEL_AFTER, for the verdict. Default 60 s, as theirs.
	CancelAfter time.Duration
	// PriceTTL is their setting PRICE_TTL, for the verdict. Default 2 s, as theirs.
	PriceTTL time.Duration
	// StepLimit is the shortest of the services' limits of a step of a call, STOCK_TIMEOUT, LOCK_TIMEOUT and
	// CONFIRM_BUDGET, for the verdict. Default: a second or more, as theirs.
	StepLimit time.Duration
	// Limited says that the order services limit the rate of calls. Without limits, 429 is a violation in calm.
	Limited bool
	// Strategy is the strategy of the stock services, if it is known.
	Strategy string
}

// Placed is an order that Config.Place made.
type Placed struct {
	Order, Total int64
	Status       history.Status
}

// Config configures Run. The zero value of a field means its default. It is the one description of a load:
// as JSON, as flags (Flags), and as the fields of a page (Settings).
type Config struct {
	Target `json:"-"`
	// Path defaults to history.PathOrder.
	Path history.Path `json:"path,omitzero"`
	// Deduct, if not nil, makes the first call of each deduction on PathDeduct instead of a plain request, for example
	// through the order service's client. It must not change the items, which come in any order.
	Deduct func(ctx context.Context, flag string, items []history.Item) (operation.Operation, error) `json:"-"`
	// Place, if not nil, makes the first call of each order on PathOrder instead of a request. It must not change the
	// items, either.
	Place func(ctx context.Context, key string, items []history.Item) (Placed, error) `json:"-"`

	// Orders is the number of orders to send, each under its own key. Default 2000, or no limit if Duration is given.
	Orders int `json:"orders,omitzero"`
	// Duration, if above zero, ends the run after that time.
	Duration time.Duration `json:"duration_s,omitzero,format:sec"`
	// Warmup at the beginning is sent and judged, but not measured. Default none.
	Warmup time.Duration `json:"warmup_s,omitzero,format:sec"`
	// Rate is in orders per second, evenly spaced; 0 sends each as soon as a client is free.
	Rate float64 `json:"rate,omitzero"`
	// Concurrency is the number of clients. Default 200.
	Concurrency int `json:"concurrency,omitzero"`
	// Timeout bounds each call. Default 15 s.
	Timeout time.Duration `json:"timeout_s,omitzero,format:sec"`
	// Insist, if above 0, is how long a client keeps repeating an order under its key, each time at the next address,
	// after a call that timed out or is Unserved. The repeats are calls of the kind history.Again. It continues even if
	// the run's ctx ends. Default: no repeats.
	Insist time.Duration `json:"-"`
	// Disturbed says that something is broken or limited at any time of the run: calls may have to be repeated. A call
	// that needs it in calm is a violation. More clients than half of mostInFlight disturb a run by themselves.
	Disturbed bool `json:"-"`
	// Breakable says that acts may break something, whose times the caller adds to the history. Each order has a key then.
	Breakable bool `json:"-"`
	// Enough, if not nil, is asked before each order: once it returns true, the run ends without the rest. The clients
	// call it concurrently.
	Enough func() bool `json:"-"`
	// Healed, if not nil, is called when the traffic has ended, and returns when what was broken is healed. The calls
	// without an end are repeated then, if it returns true. Without it they are repeated at once, unless ctx has ended.
	Healed func() bool `json:"-"`
	// Patience is how long such a call is repeated while no other ends, with the pause that its answer asks for.
	// Default 30 s.
	Patience time.Duration `json:"-"`
	// Plain leaves out the reads and the odd calls that are a small share of each run, and the odd forms of keys: for
	// measurements.
	Plain bool `json:"-"`

	Mix Mix `json:",inline"`

	// Progress, if not nil, gets a bar if it is a terminal, else a line every two seconds.
	Progress io.Writer `json:"-"`
	// Begun, if not nil, is called once, after the products are created and before the first call. Of h, Run, Path,
	// Started, Goods and Key may be used during the run.
	Begun func(h *history.History) `json:"-"`
	// Ended, if not nil, is called when a call's answer is read or given up. The event is valid until it returns. The
	// clients call it concurrently and wait for it.
	Ended func(*Event) `json:"-"`
	// Tracer, if not nil, makes a span for each call and propagates it to the services. All calls of one order are one
	// trace.
	Tracer *Tracer `json:"-"`
	// Live, if not nil, counts the calls. It may be read at any time.
	Live *Live `json:"-"`
}

// Mix describes the orders of a run.
type Mix struct {
	// Goods is the number of products, created for the run, and Stock the pieces of each. Defaults 5 and 300.
	Goods int   `json:"goods,omitzero"`
	Stock int64 `json:"stock,omitzero"`
	// ItemsMax bounds the products in one order and NumMax the pieces of each: both
	// are drawn evenly from 1 up. Defaults 3 and 3.
	ItemsMax int `json:"items_max,omitzero"`
	NumMax   int `json:"num_max,omitzero"`
	// Several, if above 0, is the share of orders with two or more products. Default: as ItemsMax draws it.
	Several float64 `json:"-"`
	// Zipf, if above 0, makes low-numbered products more popular: the i-th is
	// drawn with a weight of 1/i^Zipf.
	Zipf float64 `json:"zipf,omitzero"`
	// Repeat is the share of orders that are sent again under the same key: once concurrently and once later.
	Repeat float64 `json:"repeat,omitzero"`
	// Cancel is the share of orders that are cancelled: half of them as soon as they are answered, half later; some of
	// them by two concurrent calls.
	Cancel float64 `json:"cancel,omitzero"`
	// Seed reproduces the same orders. Default: random.
	Seed uint64 `json:"seed,omitzero,string"`
}

func (c Config) withDefaults() Config {
	if c.Duration == 0 {
		c.Orders = cmp.Or(c.Orders, 2000)
	}
	c.Path = cmp.Or(c.Path, history.PathOrder)
	c.Concurrency = cmp.Or(c.Concurrency, 200)
	c.Timeout = cmp.Or(c.Timeout, 15*time.Second)
	c.CancelAfter = cmp.Or(c.CancelAfter, 60*time.Second)
	c.PriceTTL = cmp.Or(c.PriceTTL, 2*time.Second)
	c.Patience = cmp.Or(c.Patience, 30*time.Second)
	c.Live = cmp.Or(c.Live, &Live{})
	m := &c.Mix
	m.Goods, m.Stock = cmp.Or(m.Goods, 5), cmp.Or(m.Stock, 300)
	m.ItemsMax, m.NumMax = min(cmp.Or(m.ItemsMax, 3), m.Goods), cmp.Or(m.NumMax, 3)
	for m.Seed == 0 {
		m.Seed = rand.Uint64()
	}
	return c
}

// mostInFlight is how many orders a service takes at once by default (MAX_IN_FLIGHT).
const mostInFlight = 2048

// LeastRate is the lowest Config.Rate above 0, in orders per second. At lower ones nothing happens for longer than
// anybody would watch.
const LeastRate = 0.001

// asked returns the number of orders to send, or 0 for as many as the clients can.
func (c Config) asked() int {
	switch {
	case c.Duration == 0:
		return c.Orders
	case c.Rate == 0:
		return 0
	}
	inTime := int(math.Ceil(c.Rate * c.Duration.Seconds()))
	if c.Orders > 0 {
		return min(c.Orders, inTime)
	}
	return min(inTime, history.MaxOrders)
}

// leastToReprice is how many orders a run must have for a price to change in it: of fewer, hardly any follow.
const leastToReprice = 100

// repriceAfter returns the number of the order whose answer a change of price follows, or -1 if there is none. It is
// early, so that the old price's time to live ends within the run.
func (c Config) repriceAfter() int {
	asked := c.asked()
	if c.Path != history.PathOrder || asked > 0 && asked < leastToReprice {
		return -1
	}
	return leastToReprice / 4
}

// Validate returns an error for a load that Run refuses. It does not look at the Target.
func (c Config) Validate() error { return c.withDefaults().validate() }

// addresses returns an error for addresses that Run refuses.
func (c Config) addresses() error {
	switch {
	case c.Path == history.PathOrder && len(c.OrderURLs) == 0 && c.Place == nil:
		return errors.New("no address of the order service")
	case len(c.StockURLs) == 0:
		return errors.New("no address of the stock service")
	}
	for _, raw := range slices.Concat(c.OrderURLs, c.StockURLs) {
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "http" || u.Host == "" {
			return fmt.Errorf("address %q: want http://host:port", raw)
		}
	}
	return nil
}

func (c Config) validate() error {
	switch {
	case c.Path != history.PathOrder && c.Path != history.PathDeduct:
		return fmt.Errorf("path %q: want %s or %s", c.Path, history.PathOrder, history.PathDeduct)
	case c.Orders < 0 || c.Orders > history.MaxOrders:
		return fmt.Errorf("orders %d: want 0 to %d", c.Orders, history.MaxOrders)
	case c.Concurrency < 1 || c.Concurrency > 10_000:
		return fmt.Errorf("concurrency %d: want 1 to 10000", c.Concurrency)
	case !(c.Rate >= 0 && c.Rate <= 1e6) || c.Rate > 0 && c.Rate < LeastRate: // comparisons with NaN are false
		return fmt.Errorf("rate %v: want 0, or 0.001 to 1000000 orders a second", c.Rate)
	case c.Duration < 0 || c.Warmup < 0 || c.Timeout < 0 || c.Insist < 0 || c.CancelAfter < 0 ||
		c.PriceTTL < 0 || c.Patience < 0:
		return errors.New("duration, warm-up, timeout, insist, cancel-after, price-ttl and patience cannot be negative")
	case c.Duration > 0 && c.Warmup >= c.Duration:
		return errors.New("the warm-up must be shorter than the run")
	}
	return c.Mix.validate()
}

func (m Mix) validate() error {
	switch {
	case m.Goods < 1 || m.Goods > 100_000:
		return fmt.Errorf("goods %d: want 1 to 100000", m.Goods)
	case m.Stock < 1:
		return fmt.Errorf("stock %d: want 1 or more", m.Stock)
	case m.ItemsMax < 1 || m.ItemsMax > 100:
		return fmt.Errorf("items-max %d: want 1 to 100", m.ItemsMax)
	case !(m.Several >= 0 && m.Several <= 1) || m.Several > 0 && m.ItemsMax < 2:
		return fmt.Errorf("several %v: want 0 to 1, with items-max of 2 or more", m.Several)
	case m.NumMax < 1 || m.NumMax > 1_000_000:
		return fmt.Errorf("num-max %d: want 1 to 1000000", m.NumMax)
	case !(m.Repeat >= 0 && m.Repeat <= 1) || !(m.Cancel >= 0 && m.Cancel <= 1):
		return errors.New("repeat and cancel are shares: want 0 to 1")
	case !(m.Zipf >= 0 && m.Zipf <= 10):
		return fmt.Errorf("zipf %v: want 0 to 10", m.Zipf)
	}
	return nil
}
