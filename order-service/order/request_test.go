package order_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"orderstock/order-service/order"
	"orderstock/pkg/operation"
)

func TestRequests(t *testing.T) {
	one := []operation.Item{{GoodsID: 1, Num: 1}}
	many := make([]operation.Item, 101)
	for i := range many {
		many[i] = operation.Item{GoodsID: int64(i + 1), Num: 1}
	}
	for name, c := range map[string]struct {
		key   string
		items []operation.Item
		want  error
	}{
		"one item":             {"", one, nil},
		"a hundred items":      {"", many[:100], nil},
		"the highest quantity": {"", []operation.Item{{GoodsID: math.MaxInt64, Num: math.MaxInt32}}, nil},
		"the longest key":      {strings.Repeat("~", 255), one, nil},
		"no items":             {"", nil, operation.ErrInvalidItems},
		"101 items":            {"", many, operation.ErrInvalidItems},
		"no quantity":          {"", []operation.Item{{GoodsID: 1}}, operation.ErrInvalidNum},
		"a negative quantity":  {"", []operation.Item{{GoodsID: 1, Num: -1}}, operation.ErrInvalidNum},
		"too high a quantity":  {"", []operation.Item{{GoodsID: 1, Num: 1 << 31}}, operation.ErrInvalidNum},
		"no goods":             {"", []operation.Item{{Num: 1}}, operation.ErrInvalidGoodsID},
		"goods twice":          {"", append(one, one...), operation.ErrDuplicateGoods},
		"too long a key":       {strings.Repeat("~", 256), one, order.ErrInvalidKey},
		"a key with a newline": {"a\nb", one, order.ErrInvalidKey},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := order.NewRequest(c.key, c.items); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// Requests are compared by their items, not by their spelling; any other difference makes another request.
func TestRequestsThatOrderTheSameAreEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) operation.Item {
			goods, num := rapid.Int64Range(1, 200).Draw(t, "goods"), rapid.Int64Range(1, 50).Draw(t, "num")
			return operation.Item{GoodsID: goods, Num: num}
		}), 1, 20, func(i operation.Item) int64 { return i.GoodsID }).Draw(t, "items")
		shuffled := append([]operation.Item(nil), items...)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		changed := append([]operation.Item(nil), items...)
		changed[rapid.IntRange(0, len(changed)-1).Draw(t, "which")].Num++

		a, errA := order.NewRequest("k", items)
		b, errB := order.NewRequest("k", shuffled)
		c, errC := order.NewRequest("k", changed)
		if errA != nil || errB != nil || errC != nil {
			t.Fatal(errA, errB, errC)
		}
		if order.Hash(a) != order.Hash(b) {
			t.Error("another order of the items makes another request")
		}
		if order.Hash(a) == order.Hash(c) {
			t.Error("another quantity makes the same request")
		}
	})
}

func TestAnOrderRemembersItsOutcome(t *testing.T) {
	for _, c := range []struct {
		stands, outcome, told order.Status
		reason                string
	}{
		{order.Pending, "", order.Pending, ""},
		{order.Cancelling, "", order.Pending, ""},
		{order.Confirmed, order.Confirmed, order.Confirmed, ""},
		{order.Cancelling, order.Confirmed, order.Confirmed, ""},
		{order.Cancelled, order.Confirmed, order.Confirmed, ""},
		{order.Rejected, order.Rejected, order.Rejected, "why"},
		{order.Cancelled, order.Cancelled, order.Cancelled, "why"},
	} {
		told := order.Order{Status: c.stands, Outcome: c.outcome, Reason: "why"}.AtOutcome()
		if told.Status != c.told || told.Reason != c.reason {
			t.Errorf("%s with outcome %q is answered as %s (%q)", c.stands, c.outcome, told.Status, told.Reason)
		}
	}
}
