package fire

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
)

// plan draws the orders of a run. Order n is a function of the seed and n alone, so any client can make it, and none is
// stored.
type plan struct {
	mix   Mix
	h     *history.History
	goods []history.Goods
	// great, one basket in so many has a line of nearly as many pieces as the contract allows; 0 for none.
	great int
	// cumulative holds the cumulative weights of the products; nil draws evenly.
	cumulative []float64
}

// intent is the plan for one order.
type intent struct {
	repeat      bool
	cancel      bool
	cancelLater bool
	cancelTwice bool
	// What is read when the order is answered, and whether it is read again later. The delay of what comes later is a
	// share of the rest of the run.
	read, ledger, level, later bool
	delay                      float64
	// few: the order is one of most in a long run. It is not sent again during its cancellation, and not cancelled again,
	// listed or read later; its other late calls come within the next drawOften orders.
	few bool
}

func newPlan(cfg Config, h *history.History) *plan {
	mix := cfg.Mix
	p := &plan{mix: mix, h: h, goods: h.Goods}
	if !cfg.Plain {
		p.great = 200
	}
	if mix.Zipf > 0 {
		sum := 0.0
		for i := range h.Goods {
			sum += math.Pow(float64(i+1), -mix.Zipf)
			p.cumulative = append(p.cumulative, sum)
		}
	}
	return p
}

// order draws order n and appends its items to dst, in the order drawn.
func (p *plan) order(n int, dst []history.Item) ([]history.Item, intent) {
	var src rand.PCG
	src.Seed(p.mix.Seed, uint64(p.h.BasketOf(n))*0x9e3779b97f4a7c15) // spreads neighbours over the generator's states
	r := rand.New(&src)
	do := intent{
		repeat:      r.Float64() < p.mix.Repeat,
		cancel:      r.Float64() < p.mix.Cancel,
		cancelLater: r.IntN(2) == 0,
		cancelTwice: r.IntN(4) == 0,
	}
	start := len(dst)
	want := 1 + r.IntN(p.mix.ItemsMax)
	if p.mix.Several > 0 {
		if want = 1; r.Float64() < p.mix.Several {
			want = 2 + r.IntN(p.mix.ItemsMax-1)
		}
	}
	for ; want > 0; want-- {
		i := p.draw(r)
		for slices.ContainsFunc(dst[start:], func(it history.Item) bool { return it.GoodsID == p.goods[i].ID }) {
			i = (i + 1) % len(p.goods)
		}
		dst = append(dst, history.Item{GoodsID: p.goods[i].ID, Num: 1 + r.Int64N(int64(p.mix.NumMax))})
	}
	if p.great > 0 && r.IntN(p.great) == 0 {
		dst[start+r.IntN(len(dst)-start)].Num = operation.MaxNum - r.Int64N(1000)
	}
	do.read, do.ledger, do.level = r.IntN(20) == 0, r.IntN(20) == 0, r.IntN(25) == 0
	do.later, do.delay = r.IntN(4) == 0, r.Float64()
	do.read = do.read || do.cancel && r.IntN(8) == 0 // it is read before and after
	do.few = n >= drawOften && r.IntN(fewer) > 0
	return dst, do
}

func (p *plan) draw(r *rand.Rand) int {
	if p.cumulative == nil {
		return r.IntN(len(p.goods))
	}
	x := r.Float64() * p.cumulative[len(p.cumulative)-1]
	return min(sort.SearchFloat64s(p.cumulative, x), len(p.goods)-1)
}
