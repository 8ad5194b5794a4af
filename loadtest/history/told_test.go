package history_test

import (
	"slices"
	"testing"

	"orderstock/loadtest/history"
)

// Orders at the same prices, which changed, have the same Told; and all answers are kept, also of a service that makes
// prices up.
func TestItemsAtOtherPrices(t *testing.T) {
	t.Parallel()
	h := &history.History{Path: history.PathOrder, Goods: []history.Goods{{ID: 1, Price: 100}, {ID: 2, Price: 200}}}
	named := func(n int, prices ...int64) (all []history.PricedItem) {
		for i, it := range h.Items(n) {
			all = append(all, history.PricedItem{GoodsID: it.GoodsID, Num: it.Num, Price: prices[i]})
		}
		return all
	}
	tell := func(n int, prices ...int64) history.Told {
		return h.Tell(history.Place, h.Items(n), named(n, prices...))
	}
	h.AddOrder([]history.Item{{GoodsID: 1, Num: 1}})
	h.AddOrder([]history.Item{{GoodsID: 1, Num: 7}, {GoodsID: 2, Num: 1}})
	if first := tell(1, 100, 200); first != history.ToldAsSent {
		t.Errorf("at the first prices: %d, want ToldAsSent", first)
	}
	if a, b := tell(0, 3), tell(1, 3, 200); a != b || a == history.ToldAsSent {
		t.Errorf("at one changed price: %d and %d, want the same, and not ToldAsSent", a, b)
	}
	if a, b := tell(1, 100, 5), tell(1, 3, 5); a == b {
		t.Errorf("at different prices: %d twice", a)
	}
	told := map[int64]history.Told{}
	for price := range int64(300) {
		told[price] = tell(1, price, 200)
	}
	for price, is := range told {
		if got, want := h.Named(is, history.Place, 1), named(1, price, 200); !slices.Equal(got, want) {
			t.Fatalf("named %v, want %v", got, want)
		}
	}
}
