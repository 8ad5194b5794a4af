package fire

import (
	"slices"
	"testing"

	"orderstock/loadtest/history"
)

// What the documents promise of a run of 200,000 orders, a tenth of them cancelled: a thousand cancellations are
// repeated later, which a quarter of these orders are, and each kind of odd call is sent twenty times.
func TestALongRunAsksForEachKindOften(t *testing.T) {
	t.Parallel()
	const orders = 200_000
	cfg := Config{Orders: orders, Mix: Mix{Cancel: 0.1, Seed: 1}}.withDefaults()
	cfg.OrderURLs = []string{"http://order"}
	h := &history.History{Path: cfg.Path, Odd: true, Goods: make([]history.Goods, cfg.Mix.Goods)}
	for i := range h.Goods {
		h.Goods[i].ID = int64(i + 1)
	}
	f := &firing{cfg: cfg, h: h, plan: newPlan(cfg, h), rows: shuffled(cfg)}
	var items []history.Item
	drawn, cancelled := make([]int, len(f.rows)), 0
	for n := range orders {
		var do intent
		if items, do = f.plan.order(n, items[:0]); do.cancel && !do.few {
			cancelled++
		}
		if turn := f.turn(n); turn >= 0 {
			drawn[turn]++
		}
	}
	if slices.Min(drawn) < 20 || cancelled/4 < 1000 || cancelled/4 > 2000 {
		t.Errorf("a kind of odd call is drawn %d times, and some %d cancellations are repeated later; want 20 and 1,000",
			slices.Min(drawn), cancelled/4)
	}
}

// The late calls of most orders of a long run come within the next drawOften orders, and of the others at any time.
func TestLateCallsOfALongRun(t *testing.T) {
	t.Parallel()
	const clients, sent, last = 100, 50, 5000
	w := &worker{f: &firing{cfg: Config{Orders: 100_000, Concurrency: clients}.withDefaults()}, last: last}
	for _, few := range []bool{true, false} {
		for _, delay := range []float64{0, 0.5, 0.99} {
			w.schedule(laterCall{op: last, few: few}, delay, sent)
		}
	}
	latest := map[bool]int{}
	for i, l := range w.later {
		latest[l.few] = max(latest[l.few], l.due-sent)
		if i > 0 && l.due < w.later[i-1].due {
			t.Errorf("due after %d orders, behind one that is due after %d", l.due, w.later[i-1].due)
		}
	}
	if few, others := latest[true], latest[false]; few > 1+drawOften/clients || others < 900 {
		t.Errorf("due %d and %d orders of the client later; want %d at most, and most of the rest of the run", few, others,
			1+drawOften/clients)
	}
}
