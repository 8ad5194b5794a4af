package linear_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"orderstock/loadtest/linear"
)

func items(numByGoods ...int64) []linear.Item {
	var out []linear.Item
	for i := 0; i < len(numByGoods); i += 2 {
		out = append(out, linear.Item{GoodsID: numByGoods[i], Num: numByGoods[i+1]})
	}
	return out
}

func restock(begin, end int64, its []linear.Item) linear.Call {
	return linear.Call{Kind: linear.Restock, Begin: begin, End: end, Items: its}
}

func done(flag string, begin, end int64, its []linear.Item) linear.Call {
	return linear.Call{Kind: linear.Deduct, Flag: flag, Begin: begin, End: end, Items: its}
}

func rejected(flag string, begin, end int64, its []linear.Item) linear.Call {
	return linear.Call{Kind: linear.Deduct, Flag: flag, Begin: begin, End: end, Items: its, Rejected: true}
}

func undone(flag string, begin, end int64, its []linear.Item) linear.Call {
	return linear.Call{Kind: linear.Deduct, Flag: flag, Begin: begin, End: end, Items: its, Undone: true}
}

func restore(flag string, begin, end int64, its []linear.Item) linear.Call {
	return linear.Call{Kind: linear.Restore, Flag: flag, Begin: begin, End: end, Items: its}
}

func read(begin, end int64, its []linear.Item) linear.Call {
	return linear.Call{Kind: linear.Read, Begin: begin, End: end, Items: its}
}

func TestHistories(t *testing.T) {
	hinted := func(c linear.Call, at int64) linear.Call { c.Hint = at; return c }
	stock, one := restock(0, 1, items(1, 5, 2, 5)), restock(0, 1, items(1, 5))
	for name, c := range map[string]struct {
		calls []linear.Call
		want  linear.Result
	}{
		"one after the other": {[]linear.Call{
			stock, done("a", 2, 3, items(1, 3)), done("b", 4, 5, items(1, 2)), rejected("c", 6, 7, items(1, 1)), read(8, 9,
				items(1, 0, 2, 5)),
		}, linear.Linearizable},
		"oversold": {[]linear.Call{
			stock, done("a", 2, 3, items(1, 3)), done("b", 4, 5, items(1, 3)),
		}, linear.Violation},
		"oversold by calls at once": {[]linear.Call{
			stock, done("a", 2, 9, items(1, 3)), done("b", 2, 9, items(1, 3)),
		}, linear.Violation},
		"rejected while stock was there": {[]linear.Call{
			stock, done("a", 2, 3, items(1, 3)), rejected("b", 4, 5, items(1, 2)),
		}, linear.Violation},
		"rejected for an order that came later": {[]linear.Call{
			stock, rejected("b", 2, 3, items(1, 3)), done("a", 4, 5, items(1, 3)),
		}, linear.Violation},
		"rejected for an order at the same time": {[]linear.Call{
			stock, rejected("b", 2, 4, items(1, 3)), done("a", 3, 5, items(1, 3)),
		}, linear.Linearizable},
		"rejected for one item of two": {[]linear.Call{
			stock, done("a", 2, 3, items(2, 5)), rejected("b", 4, 5, items(1, 1, 2, 1)),
		}, linear.Linearizable},
		"half an order taken": {[]linear.Call{
			stock, rejected("a", 2, 3, items(1, 1, 2, 6)), read(4, 5, items(1, 4, 2, 5)),
		}, linear.Violation},
		"a reading between the items of one order": {[]linear.Call{
			stock, done("a", 2, 9, items(1, 1, 2, 1)), read(3, 4, items(1, 4, 2, 5)),
		}, linear.Violation},
		"a stale reading": {[]linear.Call{
			stock, done("a", 2, 3, items(1, 1)), read(4, 5, items(1, 5)),
		}, linear.Violation},
		"a late effect of an unanswered call": {[]linear.Call{
			stock, done("a", 2, linear.Forever, items(1, 3)), read(3, 4, items(1, 5)), done("b", 5, 6, items(1, 2)), read(7, 8,
				items(1, 0)),
		}, linear.Linearizable},
		"an unanswered call that took effect before it was sent": {[]linear.Call{
			stock, read(2, 3, items(1, 2)), done("a", 4, linear.Forever, items(1, 3)),
		}, linear.Violation},
		"cancelled, and sold again": {[]linear.Call{
			stock, undone("a", 2, 3, items(1, 5)), restore("a", 4, 5, items(1, 5)), done("b", 6, 7, items(1, 5)),
		}, linear.Linearizable},
		"sold again before the cancellation": {[]linear.Call{
			stock, undone("a", 2, 3, items(1, 5)), done("b", 4, 5, items(1, 5)), restore("a", 6, 7, items(1, 5)),
		}, linear.Violation},
		"restored before it was deducted": {[]linear.Call{
			stock, restore("a", 2, 3, items(1, 5)), undone("a", 4, 5, items(1, 5)),
		}, linear.Violation},
		"restored twice": {[]linear.Call{
			stock, undone("a", 2, 3, items(1, 5)), restore("a", 4, 5, items(1, 5)), restore("a", 6, 7, items(1, 5)),
		}, linear.Violation},

		// A hint may speed the search up, or mislead it, but never changes its result.
		"hints in the order of the effects": {[]linear.Call{
			one, hinted(done("a", 2, 1e9, items(1, 4)), 3),
			hinted(rejected("b", 2, 1e9, items(1, 2)), 4),
		}, linear.Linearizable},
		"hints against it": {[]linear.Call{
			one, hinted(done("a", 2, 1e9, items(1, 4)), 8e8),
			hinted(rejected("b", 2, 1e9, items(1, 2)), 4),
		}, linear.Linearizable},
		"hints outside the calls": {[]linear.Call{
			one, hinted(done("a", 20, 30, items(1, 4)), 1),
			hinted(rejected("b", 20, 30, items(1, 2)), 1e9),
		}, linear.Linearizable},
		"one hint for all": {[]linear.Call{
			one, hinted(rejected("b", 2, 1e9, items(1, 2)), 5), hinted(done("a", 2, 1e9, items(1, 4)), 5), read(7, 8,
				items(1, 1)),
		}, linear.Linearizable},
		"one hint for calls that never met": {[]linear.Call{
			one, hinted(done("a", 2, 3, items(1, 4)), 5), read(4, 6, items(1, 1)), hinted(done("b", 7, 8, items(1, 1)),
				5), read(9, 10, items(1, 0)),
		}, linear.Linearizable},
		"hints that would explain a lie": {[]linear.Call{
			one, hinted(rejected("b", 2, 3, items(1, 2)), 9),
			hinted(done("a", 4, 5, items(1, 4)), 1),
		}, linear.Violation},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := linear.Check(c.calls, 10*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestNoHistory(t *testing.T) {
	for name, calls := range map[string][]linear.Call{
		"ends before it begins":         {done("a", 3, 2, items(1, 1))},
		"two deductions under one flag": {done("a", 1, 2, items(1, 1)), done("a", 3, 4, items(1, 1))},
	} {
		if got, err := linear.Check(calls, time.Second); err == nil {
			t.Errorf("%s: %s, want an error", name, got)
		}
	}
}

// A thousand calls of a correct stock pass, whether all are answered or a hundredth of them is not.
func TestThousandCalls(t *testing.T) {
	for _, unanswered := range []int{0, 10} {
		calls := recordStock(1000, 24, 3, unanswered)
		if got, err := linear.Check(calls, 30*time.Second); err != nil || got != linear.Linearizable {
			t.Errorf("%d in 1000 unanswered: %s %v, want %s", unanswered, got, err, linear.Linearizable)
		}
	}
}

// One piece too many at the end of a thousand calls is found.
func TestThousandCallsAndOneLie(t *testing.T) {
	calls := recordStock(1000, 4, 3, 0)
	calls[len(calls)-1].Items[0].Num++ // of the reading at the end
	if got, err := linear.Check(calls, 30*time.Second); err != nil || got != linear.Violation {
		t.Errorf("%s %v, want %s", got, err, linear.Violation)
	}
}

// recordStock makes n calls by several clients to a stock behind one mutex, and returns their observations, with a
// reading at the end. Of a thousand calls, unanswered are never answered.
func recordStock(n, clients int, goods int64, unanswered int) []linear.Call {
	var (
		mu      sync.Mutex
		levels  = map[int64]int64{}
		calls   []linear.Call
		began   = time.Now()
		now     = func() int64 { return int64(time.Since(began)) }
		running sync.WaitGroup
	)
	for g := int64(1); g <= goods; g++ {
		levels[g] = int64(n) / 3
		calls = append(calls, restock(now(), now(), items(g, levels[g])))
	}
	for client := range clients {
		running.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(client), 1))
			for i := range n / clients {
				c := done(fmt.Sprint(client, "-", i), now(), 0, items(1+rng.Int64N(goods), 1+rng.Int64N(3)))
				time.Sleep(time.Duration(rng.IntN(100)) * time.Microsecond)
				mu.Lock()
				it := c.Items[0]
				if c.Rejected = levels[it.GoodsID] < it.Num; !c.Rejected {
					levels[it.GoodsID] -= it.Num
				}
				mu.Unlock()
				if c.End = now(); rng.IntN(1000) < unanswered {
					c.End = linear.Forever
				}
				mu.Lock()
				calls = append(calls, c)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	last := read(now(), now(), nil)
	for g := int64(1); g <= goods; g++ {
		last.Items = append(last.Items, linear.Item{GoodsID: g, Num: levels[g]})
	}
	return append(calls, last)
}
