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
	"strings"
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
// as JSON, as flags (Flags), and as the fields of a page (Settings). The tags are of a Setting, and of package flagset.
type Config struct {
	Target `json:"-"`
	// Path defaults to history.PathOrder.
	Path history.Path `json:"path,omitzero" flag:"path" default:"order" help:"order: whole orders; deduct: the stock service alone"`
	// Deduct, if not nil, makes the first call of each deduction on PathDeduct instead of a plain request, for example
	// through the order service's client. It must not change the items, which come in any order.
	Deduct func(ctx context.Context, flag string, items []history.Item) (operation.Operation, error) `json:"-"`
	// Place, if not nil, makes the first call of each order on PathOrder instead of a request. It must not change the
	// items, either.
	Place func(ctx context.Context, key string, items []history.Item) (Placed, error) `json:"-"`

	// Orders is the number of orders to send, each under its own key. Default 2000, or no limit if Duration is given. They
	// are history.MaxOrders at most.
	Orders int `json:"orders,omitzero" flag:"orders" bounds:"1 50000000" label:"Orders" most:"200000" help:"orders to send (default 2000, or no limit with --duration)"`
	// Concurrency is the number of clients. Default 200.
	Concurrency int `json:"concurrency,omitzero" flag:"concurrency" default:"200" bounds:"1 10000" label:"Buyers" most:"2000" help:"clients"`
	// Rate is in orders per second, evenly spaced; 0 sends each as soon as a client is free.
	Rate float64 `json:"rate,omitzero" flag:"rate" bounds:"0 1000000" label:"Orders a second" most:"100000" help:"orders a second; 0: each as soon as a client is free"`
	// Duration, if above zero, ends the run after that time.
	Duration time.Duration `json:"duration_s,omitzero,format:sec" flag:"duration" label:"Seconds" most:"600" help:"end after this time"`
	// Warmup at the beginning is sent and judged, but not measured. Default none.
	Warmup time.Duration `json:"warmup_s,omitzero,format:sec" flag:"warmup" label:"Warm-up seconds" most:"600" help:"time at the beginning that is not measured"`
	// Timeout bounds each call. Default 15 s.
	Timeout time.Duration `json:"timeout_s,omitzero,format:sec" flag:"timeout" default:"15s" bounds:"1ms 24h" label:"Patience in seconds" most:"60" help:"of each call"`
	// Insist, if above 0, is how long a client keeps repeating an order under its key, each time at the next address,
	// after a call that timed out or is Unserved. The repeats are calls of the kind history.Again. It continues even if
	// the run's ctx ends. Default: no repeats.
	Insist time.Duration `json:"-"`
	// Disturbed says that something is broken or limited at any time of the run: calls may have to be repeated. A call
	// that needs it in calm is a violation. More clients than half of mostInFlight disturb a run by themselves.
	Disturbed bool `json:"-" flag:"disturbed" help:"something is broken or limited during the run: calls may have to be repeated, which is a violation in calm"`
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
	Goods int   `json:"goods,omitzero" flag:"goods" default:"5" bounds:"1 100000" label:"Products" most:"1000" help:"products, made new for the run"`
	Stock int64 `json:"stock,omitzero" flag:"stock" default:"300" bounds:"1 2147483647" label:"Pieces of each" most:"2147483647" help:"pieces of each product"`
	// ItemsMax bounds the products in one order and NumMax the pieces of each: both
	// are drawn evenly from 1 up. Defaults 3 and 3.
	ItemsMax int `json:"items_max,omitzero" flag:"items-max" default:"3" bounds:"1 100" label:"Products in an order" most:"100" help:"most products in one order"`
	NumMax   int `json:"num_max,omitzero" flag:"num-max" default:"3" bounds:"1 1000000" label:"Pieces in a line" most:"1000000" help:"most pieces of one product in an order"`
	// Several, if above 0, is the share of orders with two or more products. Default: as ItemsMax draws it.
	Several float64 `json:"-"`
	// Zipf, if above 0, makes low-numbered products more popular: the i-th is
	// drawn with a weight of 1/i^Zipf.
	Zipf float64 `json:"zipf,omitzero" flag:"zipf" bounds:"0 10" label:"Crowding" most:"10" help:"how much more popular the first products are: weight 1/i^zipf; 0: all equally"`
	// Repeat is the share of orders that are sent again under the same key: once concurrently and once later.
	Repeat float64 `json:"repeat,omitzero" flag:"repeat" default:"0.1" bounds:"0 1" label:"Sent again" most:"1" help:"share of orders sent again under the same key, at the same time and later"`
	// Cancel is the share of orders that are cancelled: half of them as soon as they are answered, half later; some of
	// them by two concurrent calls.
	Cancel float64 `json:"cancel,omitzero" flag:"cancel" bounds:"0 1" label:"Cancelled" most:"1" help:"share of orders that are cancelled"`
	// Seed reproduces the same orders. Default: random.
	Seed uint64 `json:"seed,omitzero,string" flag:"seed" help:"makes the same orders again; 0: random"`
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
	switch m := c.Mix; {
	case c.Path != history.PathOrder && c.Path != history.PathDeduct:
		return fmt.Errorf("path %q: want %s or %s", c.Path, history.PathOrder, history.PathDeduct)
	case !(c.Rate >= 0 && c.Rate <= 1e6) || c.Rate > 0 && c.Rate < LeastRate: // comparisons with NaN are false
		return fmt.Errorf("rate %v: want 0, or 0.001 to 1000000 orders a second", c.Rate)
	case c.Duration < 0 || c.Warmup < 0 || c.Timeout < 0 || c.Insist < 0 || c.CancelAfter < 0 ||
		c.PriceTTL < 0 || c.Patience < 0:
		return errors.New("duration, warm-up, timeout, insist, cancel-after, price-ttl and patience cannot be negative")
	case c.Duration > 0 && c.Warmup >= c.Duration:
		return errors.New("the warm-up must be shorter than the run")
	case !(m.Several >= 0 && m.Several <= 1) || m.Several > 0 && m.ItemsMax < 2:
		return fmt.Errorf("several %v: want 0 to 1, with items-max of 2 or more", m.Several)
	}
	for _, s := range c.Settings() {
		var least, most float64
		n, unset := s.number(), s.number() == 0 && s.Default == ""
		if found, _ := fmt.Sscan(s.bounds, &least, &most); found == 2 && !unset && !(n >= least && n <= most) {
			return fmt.Errorf("%s %v: want %s", s.Flag, n, strings.Replace(s.bounds, " ", " to ", 1))
		}
	}
	return nil
}
