package tables

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"sync"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
)

// Interval is how often a Sample is taken. Runs last seconds.
const Interval = 250 * time.Millisecond

// Sample sums up the calls of one interval.
type Sample struct {
	TMS        Millis  `json:"t_ms" col:"After"`
	OrdersPerS float64 `json:"orders_per_s" col:"All a second" fmt:"%.1f"`
	Confirmed  float64 `json:"confirmed_per_s" col:"Confirmed" fmt:"%.1f"`
	Rejected   float64 `json:"rejected_per_s" col:"Rejected" fmt:"%.1f"`
	Failed     float64 `json:"failed_per_s" col:"Failed" fmt:"%.1f"`
	// P50MS and P99MS are absent if no order was answered in the interval, or if another process fires.
	P50MS float64 `json:"p50_ms,omitzero" col:"Half within, ms" fmt:"%.1f"`
	P99MS float64 `json:"p99_ms,omitzero" col:"99 of 100 within, ms" fmt:"%.1f"`
}

// Millis is a time since the first order, in milliseconds. As text it is in seconds.
type Millis int64

func (ms Millis) String() string { return fmt.Sprintf("%.2f s", float64(ms)/1000) }

// Answer is the answer to one call for an order.
type Answer struct {
	TMS    int64  `json:"t_ms"`
	Code   int    `json:"code"`
	Status string `json:"status"`
	Kind   string `json:"kind"` // first, repeat, cancel or read
}

// keepAnswers bounds the orders whose answers are remembered.
const keepAnswers = 20_000

// Meter turns the calls of a run into Samples, and counts the acknowledged pieces. It observes a load, or replays its
// history. It is safe for concurrent use.
type Meter struct {
	// Live counts the calls of a load.
	Live *fire.Live

	mu           sync.Mutex
	phase        trial.Phase
	started      time.Time
	path         history.Path
	goods        []int64
	promised     int64              // pieces of all goods
	acknowledged map[int64]int64    // pieces by goods
	confirmed    big.Int            // a bit for each order: its pieces are acknowledged
	answers      map[int64][]Answer // by order id

	// Since the last sample.
	ends      [3]int // confirmed, rejected, the rest
	latencies []time.Duration
}

// NewMeter returns a meter for one run, which is starting.
func NewMeter() *Meter {
	return &Meter{
		Live: &fire.Live{}, phase: trial.Starting, acknowledged: map[int64]int64{}, answers: map[int64][]Answer{},
	}
}

// Watching is the phase of a run that another process fires.
const Watching trial.Phase = "watching"

// Watch returns the meter of a run that another process fires since then. It sees no calls.
func Watch(since time.Time) *Meter {
	return &Meter{Live: &fire.Live{}, phase: Watching, started: since}
}

// Phase returns the phase of the run: Idle once it is judged or has failed.
func (m *Meter) Phase() trial.Phase {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.phase
}

// Enter begins a phase of the run.
func (m *Meter) Enter(p trial.Phase) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.phase = p
}

// Started begins the run.
func (m *Meter) Started(h *history.History) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.started, m.path, m.promised = h.Started, h.Path, h.Promised()
	for _, g := range h.Goods {
		m.goods = append(m.goods, g.ID)
	}
}

// End takes a call that has ended.
func (m *Meter) End(e *fire.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.acknowledge(e)
	if e.Order != 0 && len(m.answers) < keepAnswers {
		m.answers[e.Order] = append(m.answers[e.Order], Answer{
			TMS: e.Done.Milliseconds(), Code: int(e.Code), Status: e.Status.String(), Kind: kindOf(e.Kind),
		})
	}
	if e.Kind != history.Place {
		return
	}
	switch e.Status {
	case history.Confirmed, history.Done:
		m.ends[0]++
	case history.Rejected:
		m.ends[1]++
	default:
		m.ends[2]++
	}
	if e.Code != 0 {
		m.latencies = append(m.latencies, e.Latency())
	}
}

// acknowledge counts the pieces that the answer confirms or takes back.
func (m *Meter) acknowledge(e *fire.Event) {
	sign, bit := int64(0), uint(0)
	switch e.Status {
	case history.Confirmed, history.Done:
		sign, bit = 1, 1
	case history.Cancelled, history.Restored:
		sign = -1
	}
	if sign == 0 || m.confirmed.Bit(int(e.Op)) == bit {
		return
	}
	m.confirmed.SetBit(&m.confirmed, int(e.Op), bit)
	for _, it := range e.Items {
		m.acknowledged[it.GoodsID] += sign * it.Num
	}
}

func kindOf(k history.Kind) string {
	switch k {
	case history.Place:
		return "first"
	case history.Cancel:
		return "cancel"
	case history.ReadOrder, history.ReadLedger:
		return "read"
	}
	return "repeat"
}

// Since returns the time since the first order, or false if none was sent.
func (m *Meter) Since() (time.Duration, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started.IsZero() {
		return 0, false
	}
	return time.Since(m.started), true
}

// Take ends an interval of that length, t after the first order, and returns its sample.
func (m *Meter) Take(t, length time.Duration) Sample {
	m.mu.Lock()
	ends, latencies := m.ends, m.latencies
	m.ends, m.latencies = [3]int{}, nil
	m.mu.Unlock()
	perS := func(n int) float64 { return float64(n) / length.Seconds() }
	s := Sample{
		TMS: Millis(t.Milliseconds()), OrdersPerS: perS(ends[0] + ends[1]),
		Confirmed: perS(ends[0]), Rejected: perS(ends[1]), Failed: perS(ends[2]),
	}
	if n := len(latencies); n > 0 {
		slices.Sort(latencies)
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		s.P50MS, s.P99MS = ms(latencies[n/2]), ms(latencies[min(n-1, n*99/100)])
	}
	return s
}

// A sale that lasts for longer than longSale ends once its pieces are sold, and every sale after longestSale: a machine
// that shows nothing by then is too slow for so many buyers.
const longSale, longestSale = 20 * time.Second, 90 * time.Second

// Enough reports whether a sale need not go on: see longSale. longest is how long it may last.
func (m *Meter) Enough(longest time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	sold := int64(0)
	for _, n := range m.acknowledged {
		sold += n
	}
	lasted := time.Since(m.started)
	return lasted > longest || lasted > longSale && sold >= m.promised
}

// Sale are the goods of a run. It is zero for a run that another process fires.
type Sale struct {
	Goods []int64
	// Promised is the number of pieces of all goods.
	Promised int64
	// Acknowledged are the pieces acknowledged to clients, by goods; nil if this process did not fire the orders.
	Acknowledged map[int64]int64
}

// Sale returns the goods of the run, and their acknowledged pieces.
func (m *Meter) Sale() Sale {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Sale{m.goods, m.promised, maps.Clone(m.acknowledged)}
}

// Orders returns how many whole orders have ended; false on another path.
func (m *Meter) Orders() (int64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(m.Live.Counts().Orders), m.path == history.PathOrder
}

// Answers returns the answers to the calls for an order.
func (m *Meter) Answers(order int64) []Answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.answers[order])
}

// replay returns the samples of a history, and its meter.
func replay(h *history.History) ([]Sample, *Meter) {
	m := NewMeter()
	m.Started(h)
	calls := slices.Clone(h.Calls)
	slices.SortFunc(calls, func(a, b history.Call) int { return int(a.Done - b.Done) })
	samples, end := []Sample{}, Interval
	for _, call := range calls {
		for ; call.Done > end; end += Interval {
			samples = append(samples, m.Take(end, Interval))
		}
		m.End(&fire.Event{Call: call, Items: h.Items(int(call.Op))})
	}
	if rest := h.Elapsed - (end - Interval); rest > Interval/5 {
		samples = append(samples, m.Take(h.Elapsed, min(rest, Interval)))
	}
	return samples, m
}
