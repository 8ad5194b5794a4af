package history_test

import (
	"slices"
	"testing"

	"orderstock/loadtest/history"
)

// Orders at the same prices, which changed, have the same NamedItems; and all answers are kept, also of a service that
// makes prices up.
func TestItemsAtOtherPrices(t *testing.T) {
	t.Parallel()
	h := &history.History{Path: history.PathOrder, Goods: []history.Goods{{ID: 1, Price: 100}, {ID: 2, Price: 200}}}
	named := func(n int, prices ...int64) (all []history.PricedItem) {
		for i, it := range h.Items(n) {
			all = append(all, history.PricedItem{GoodsID: it.GoodsID, Num: it.Num, Price: prices[i]})
		}
		return all
	}
	identify := func(n int, prices ...int64) history.NamedItems {
		return h.Identify(history.Place, h.Items(n), named(n, prices...))
	}
	h.AddOrder([]history.Item{{GoodsID: 1, Num: 1}})
	h.AddOrder([]history.Item{{GoodsID: 1, Num: 7}, {GoodsID: 2, Num: 1}})
	if first := identify(1, 100, 200); first != history.ItemsAsSent {
		t.Errorf("at the first prices: %d, want ItemsAsSent", first)
	}
	if a, b := identify(0, 3), identify(1, 3, 200); a != b || a == history.ItemsAsSent {
		t.Errorf("at one changed price: %d and %d, want the same, and not ItemsAsSent", a, b)
	}
	if a, b := identify(1, 100, 5), identify(1, 3, 5); a == b {
		t.Errorf("at different prices: %d twice", a)
	}
	all := map[int64]history.NamedItems{}
	for price := range int64(300) {
		all[price] = identify(1, price, 200)
	}
	for price, is := range all {
		if got, want := h.Named(is, history.Place, 1), named(1, price, 200); !slices.Equal(got, want) {
			t.Fatalf("named %v, want %v", got, want)
		}
	}
}
