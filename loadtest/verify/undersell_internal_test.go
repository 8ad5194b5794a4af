package verify

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
)

// shopDay is a random day of a correct shop: each order is decided at one moment
// between its sending and its answer, and so is each cancellation.
type shopDay struct {
	h        *history.History
	moves    []move
	rejected []rejectedOrder
}

// move is the deduction of an item of order n, or its return.
type move struct {
	n      int
	item   history.Item
	undone bool
}

func drawDay(t *rapid.T) (day shopDay, level map[int64]int64) {
	h := &history.History{Run: "r", Path: history.PathOrder}
	level = map[int64]int64{}
	for i := range rapid.IntRange(1, 3).Draw(t, "goods") {
		g := history.Goods{ID: int64(i + 1), Stock: rapid.Int64Range(1, 8).Draw(t, "stock")}
		h.Goods = append(h.Goods, g)
		level[g.ID] = g.Stock
	}
	day = shopDay{h: h}
	spread := func(what string) time.Duration { return time.Duration(rapid.Int64Range(0, 30).Draw(t, what)) }
	now := time.Duration(100)
	var done []int
	for range rapid.IntRange(1, 25).Draw(t, "steps") {
		now += 10 // a decision every ten ticks; calls reach around several of them
		if len(done) > 0 && rapid.IntRange(0, 3).Draw(t, "cancel") == 0 {
			at := rapid.IntRange(0, len(done)-1).Draw(t, "which")
			n := done[at]
			done = append(done[:at], done[at+1:]...)
			for _, it := range h.Items(n) {
				level[it.GoodsID] += it.Num
				day.moves = append(day.moves, move{n, it, true})
			}
			call := history.Call{Op: int32(n), Kind: history.Cancel, Sent: now - spread("before"), Done: now + spread("after")}
			if rapid.Bool().Draw(t, "answered") {
				call.Code, call.Status, call.Order = 200, history.Cancelled, int64(n+1)
			}
			h.Calls = append(h.Calls, call)
			continue
		}
		n := h.Orders()
		var items []history.Item
		fits, short := true, int32(-1)
		for _, g := range h.Goods {
			if rapid.Bool().Draw(t, "with") || len(items) == 0 && g == h.Goods[len(h.Goods)-1] {
				it := history.Item{GoodsID: g.ID, Num: rapid.Int64Range(1, 4).Draw(t, "num")}
				items = append(items, it)
				if fits && it.Num > level[g.ID] {
					fits, short = false, int32(len(items)-1)
				}
			}
		}
		h.AddOrder(items)
		call := history.Call{Op: int32(n), Kind: history.Place, Sent: now - spread("before"), Done: now + spread("after")}
		end := history.Rejected
		if fits {
			end = history.Confirmed
			done = append(done, n)
			for _, it := range items {
				level[it.GoodsID] -= it.Num
				day.moves = append(day.moves, move{n, it, false})
			}
		}
		if !fits {
			day.rejected = append(day.rejected, rejectedOrder{int32(n), short, int64(n + 1)})
		}
		if rapid.IntRange(0, 4).Draw(t, "answered") > 0 {
			call.Code, call.Status, call.Order = 201, end, int64(n+1)
		}
		h.Calls = append(h.Calls, call)
	}
	return day, level
}

// rejections returns how many orders of the day were rejected wrongly, as far as can be told.
func (d shopDay) rejections() int {
	j := newJudgement(d.h, &Verdict{}, Terms{Samples: 1})
	j.rejected = d.rejected
	for _, m := range d.moves {
		kind, num := operation.KindDeduct, -m.item.Num
		if m.undone {
			kind, num = operation.KindRestore, m.item.Num
		}
		j.sumUp(&Entry{Flows: []FlowRow{{Kind: kind, Goods: m.item.GoodsID, Num: num}}}, m.n)
	}
	j.bound()
	j.rejections()
	for _, i := range j.v.Invariants {
		if i.Name == RejectedOnlyWhenShort {
			return i.Violations
		}
	}
	return -1
}

func TestARightShopIsNeverAccusedOfUnderselling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		day, _ := drawDay(t)
		if n := day.rejections(); n != 0 {
			t.Fatalf("%d false alarms", n)
		}
	})
}

func TestARejectionInQuietTimesIsJudgedExactly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		day, level := drawDay(t)
		for i := range day.h.Calls { // restores that nobody was told of cannot count
			if c := &day.h.Calls[i]; c.Kind == history.Cancel && c.Status == history.NoStatus {
				return
			}
		}
		g := day.h.Goods[rapid.IntRange(0, len(day.h.Goods)-1).Draw(t, "goods")]
		num := rapid.Int64Range(1, 10).Draw(t, "num")
		n := day.h.Orders()
		day.h.AddOrder([]history.Item{{GoodsID: g.ID, Num: num}})
		day.rejected = append(day.rejected, rejectedOrder{int32(n), 0, int64(n + 1)})
		day.h.Calls = append(day.h.Calls, history.Call{
			Op: int32(n), Kind: history.Place, Sent: 100_000, Done: 100_001,
			Code: 409, Status: history.Rejected, Order: int64(n + 1),
		})
		want := 0
		if num <= level[g.ID] {
			want = 1
		}
		if got := day.rejections(); got != want {
			t.Fatalf("an order of %d with %d left is rejected after all is quiet: %d found, want %d", num, level[g.ID], got,
				want)
		}
	})
}
