package console

import (
	"maps"
	"slices"
	"sync"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
)

// interval is how often a Sample is taken. Runs last seconds.
const interval = 250 * time.Millisecond

// meter turns the calls of a run into Samples and counts the acknowledged pieces.
// It is an observer of package fire.
type meter struct {
	hub *hub

	mu           sync.Mutex
	started      time.Time
	path         history.Path
	goods        []int64
	stock        int64
	acknowledged map[int64]int64          // pieces by goods
	confirmed    map[int32][]history.Item // by the number of the order: what may still be cancelled
	answers      map[int64][]Answer       // by order id
	live         fire.Live

	// Since the last sample.
	ends      [3]int // confirmed, rejected, the rest
	latencies []time.Duration

	begun chan struct{}
}

// Answer is the answer to one call for an order.
type Answer struct {
	TMS    int64  `json:"t_ms"`
	Code   int    `json:"code"`
	Status string `json:"status"`
	Kind   string `json:"kind"` // first, repeat, cancel or read
}

// keepAnswers bounds the orders whose answers are remembered.
const keepAnswers = 20_000

func newMeter(h *hub) *meter {
	return &meter{
		hub: h, acknowledged: map[int64]int64{}, confirmed: map[int32][]history.Item{}, answers: map[int64][]Answer{},
		begun: make(chan struct{}),
	}
}

// Started implements fire.Observer.
func (m *meter) Started(h *history.History) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.started, m.path = h.Started, h.Path
	for _, g := range h.Goods {
		m.goods = append(m.goods, g.ID)
		m.stock += g.Stock
	}
	close(m.begun)
}

// fires reports whether the run has begun and goes by that path.
func (m *meter) fires(path history.Path) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.path == path
}

// Begin implements fire.Observer. Config.Live counts the calls.
func (m *meter) Begin(*fire.Event) {}

// End implements fire.Observer.
func (m *meter) End(e *fire.Event) {
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
func (m *meter) acknowledge(e *fire.Event) {
	held, holds := m.confirmed[e.Op]
	switch e.Status {
	case history.Confirmed, history.Done:
		if !holds {
			m.confirmed[e.Op] = slices.Clone(e.Items)
			for _, it := range e.Items {
				m.acknowledged[it.GoodsID] += it.Num
			}
		}
	case history.Cancelled, history.Restored:
		for _, it := range held {
			m.acknowledged[it.GoodsID] -= it.Num
		}
		delete(m.confirmed, e.Op)
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

// take ends an interval and returns its sample.
func (m *meter) take(length time.Duration) Sample {
	m.mu.Lock()
	ends, latencies := m.ends, m.latencies
	m.ends, m.latencies = [3]int{}, nil
	since := time.Since(m.started)
	m.mu.Unlock()
	perS := func(n int) float64 { return float64(n) / length.Seconds() }
	s := Sample{
		TMS: since.Milliseconds(), OrdersPerS: perS(ends[0] + ends[1]),
		Confirmed: perS(ends[0]), Rejected: perS(ends[1]), Failed: perS(ends[2]),
	}
	if n := len(latencies); n > 0 {
		slices.Sort(latencies)
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		s.P50MS, s.P99MS = ms(latencies[n/2]), ms(latencies[min(n-1, n*99/100)])
	}
	return s
}

// sold returns the goods, and the number of acknowledged pieces of each.
func (m *meter) sold() ([]int64, map[int64]int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.goods, maps.Clone(m.acknowledged)
}

// answersFor returns the answers to the calls for an order.
func (m *meter) answersFor(order int64) []Answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.answers[order])
}

// run samples until done is closed, and once more then.
func (m *meter) run(done <-chan struct{}) {
	select {
	case <-m.begun:
	case <-done:
		return
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-tick.C:
			m.hub.sample(m.take(time.Since(last)))
			last = time.Now()
		case <-done:
			if length := time.Since(last); length > interval/5 {
				m.hub.sample(m.take(length))
			}
			return
		}
	}
}
