package judge_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"orderstock/loadtest/judge"
	"orderstock/loadtest/judge/books"
	"orderstock/loadtest/judge/shop"
)

// crowd is the evidence of a phase of n orders for n/2 pieces, one after another, the second half rejected. With
// seats, each piece is a product, and one order of two is for a seat that is sold.
func crowd(n int, seats bool) judge.Evidence {
	e := world()
	e.Orders, e.After.Orders, e.After.Deductions = nil, nil, nil
	e.Before.Levels, e.After.Levels, e.Stock = nil, nil, map[string]shop.Pieces{}
	for i := range n {
		product, id, key := "1", fmt.Sprint("o", i), fmt.Sprint("k", i)
		if seats {
			product = fmt.Sprint("seat ", i%(n/2))
		}
		o := &judge.Order{Key: key, Basket: []judge.Item{{Product: product, Pieces: shop.Whole}}}
		c := judge.Call{Kind: judge.First, Sent: at(2 * i), Done: at(2*i + 1)}
		row := sold(id, key, product)
		if c.Means, c.Order = shop.Accepted, id; i >= n/2 {
			c.Means, c.Order, row.State = shop.Rejected, "", "VOID"
		} else {
			e.Stock[product] += shop.Whole
			e.After.Deductions = append(e.After.Deductions, books.Row{ID: id, Product: product, Pieces: shop.Whole})
		}
		o.Calls = []judge.Call{c}
		e.Orders, e.After.Orders = append(e.Orders, o), append(e.After.Orders, row)
	}
	for product, pieces := range e.Stock {
		e.Before.Levels = append(e.Before.Levels, books.Level{Product: product, Pieces: pieces})
		e.After.Levels = append(e.After.Levels, books.Level{Product: product})
	}
	return e
}

// Sixteen times as many orders take about sixteen times as long to judge, for any shop and any books: the limit is
// 100,000 orders. A part that compares each order with each other one would take 256 times as long. Between the two
// there is room for caches and for the garbage collector.
func TestTheTimeToJudgeGrowsWithTheOrders(t *testing.T) {
	for name, c := range map[string]struct {
		seats  bool
		change func(*judge.Evidence)
	}{
		"right":         {false, func(*judge.Evidence) {}},
		"seats":         {true, func(*judge.Evidence) {}},
		"answers alone": {false, withoutBooks},
		"no answers":    {false, eachOrder(func(_ *judge.Evidence, o *judge.Order) { o.Calls[0].Means = shop.Unknown })},
		"all are rejected": {false, eachOrder(func(_ *judge.Evidence, o *judge.Order) {
			o.Calls[0].Means = shop.Rejected
		})},
		"all seats are sold": {true, eachOrder(func(_ *judge.Evidence, o *judge.Order) {
			o.Calls[0].Means = shop.Accepted
		})},
		"seats, and no stock": {true, func(e *judge.Evidence) { clear(e.Before.Levels); clear(e.After.Levels) }},
		"no order is in the books": {false, func(e *judge.Evidence) {
			e.After.Orders, e.After.Deductions = e.After.Orders[:1], e.After.Deductions[:0]
		}},
		"each key has two orders in the books": {false, func(e *judge.Evidence) {
			for _, row := range slices.Clone(e.After.Orders) {
				row.ID += "b"
				e.After.Orders = append(e.After.Orders, row)
			}
		}},
		"each answer names one order": {false, eachOrder(func(e *judge.Evidence, o *judge.Order) {
			o.Calls[0].Means, o.Calls[0].Order = shop.Accepted, "o1"
		})},
		"all rows are of one order":  {false, eachRow(func(_ int, r *books.Row) { r.ID = "o1" })},
		"all seats are of one order": {true, eachRow(func(_ int, r *books.Row) { r.ID = "o1" })},
		"all rows and answers are of one order": {true, func(e *judge.Evidence) {
			eachRow(func(_ int, r *books.Row) { r.ID = "o1" })(e)
			eachOrder(func(_ *judge.Evidence, o *judge.Order) {
				o.Calls[0].Means, o.Calls[0].Order = shop.Accepted, "o1"
			})(e)
		}},
		"each row has its own state": {false, eachRow(func(i int, r *books.Row) { r.State = fmt.Sprint("state ", i) })},
		"one state has no name":      {false, eachRow(func(_ int, r *books.Row) { r.State = "" })},
	} {
		const few = 2000
		small, large := cost(crowd(few, c.seats), c.change), cost(crowd(16*few, c.seats), c.change)
		if large > 64*small {
			t.Errorf("%s: %d orders took %s, and sixteen times as many %s, %.1f times as long",
				name, few, small, large, float64(large)/float64(small))
		}
	}
}

func eachOrder(change func(*judge.Evidence, *judge.Order)) func(*judge.Evidence) {
	return func(e *judge.Evidence) {
		for _, o := range e.Orders {
			change(e, o)
		}
	}
}

func eachRow(change func(int, *books.Row)) func(*judge.Evidence) {
	return func(e *judge.Evidence) {
		for i := range e.After.Orders {
			change(i, &e.After.Orders[i])
		}
	}
}

// cost returns the processor's time for a judgement, the least of three.
func cost(e judge.Evidence, change func(*judge.Evidence)) (least time.Duration) {
	change(&e)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
			panic(err)
		}
		return time.Duration(now.Nano())
	}
	for i := range 3 {
		runtime.GC()
		start := used()
		judge.Judge(e)
		if took := used() - start; i == 0 || took < least {
			least = took
		}
	}
	return least
}

// A rejection is allowed by the same rule for any order of calls, here by comparing each order with all others.
func TestRejectionsAreJudgedByAllOtherOrders(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		draw := rand.New(rand.NewPCG(seed, 1))
		e := judge.Evidence{Stock: map[string]shop.Pieces{"a": 5 * shop.Whole, "b": 3 * shop.Whole}}
		for i := range 5 + draw.IntN(12) {
			o := &judge.Order{Key: fmt.Sprint("k", i), Basket: []judge.Item{{Product: "a", Pieces: shop.Whole}}}
			if draw.IntN(3) == 0 {
				o.Basket = append(o.Basket, judge.Item{Product: "b", Pieces: shop.Pieces(1+draw.IntN(2)) * shop.Whole})
			}
			for range 1 + draw.IntN(2) {
				sent := draw.IntN(8)
				c := judge.Call{Sent: at(sent), Done: at(sent + 1 + draw.IntN(3))}
				switch draw.IntN(5) {
				case 0, 1:
					c.Means = shop.Rejected
				case 2:
					c.Means, c.Failure, c.Unsent = shop.Unknown, "lost", draw.IntN(2) == 0
				default:
					c.Means, c.Order = shop.Accepted, fmt.Sprint("o", i, draw.IntN(2))
				}
				o.Calls = append(o.Calls, c)
			}
			e.Orders = append(e.Orders, o)
		}
		want := tooEarly(&e)
		got := 0
		v := judge.Judge(e)
		if !slices.Contains(v.Checked, judge.RejectedOnlyWhenShort) {
			continue
		}
		for _, found := range v.Violations {
			if found.Invariant == judge.RejectedOnlyWhenShort {
				got = found.Count
			}
		}
		if got != want {
			t.Errorf("seed %d: %d rejections are violations; want %d\n%s", seed, got, want, strings.Join(v.Violated(), " "))
		}
	}
}

// tooEarly counts the rejections for which the stock was not short, by comparing each order with all others.
func tooEarly(e *judge.Evidence) (n int) {
	sent := func(o *judge.Order) time.Duration {
		return slices.MinFunc(o.Calls, func(a, b judge.Call) int { return int(a.Sent - b.Sent) }).Sent
	}
	has := func(o *judge.Order, means shop.Means) bool {
		return slices.ContainsFunc(o.Calls, func(c judge.Call) bool { return c.Means == means })
	}
	done := func(o *judge.Order) (last time.Duration) {
		for _, c := range o.Calls {
			if last = max(last, c.Done); c.Failure != "" && !c.Unsent {
				return time.Hour
			}
		}
		return last
	}
	for _, o := range e.Orders {
		i := slices.IndexFunc(o.Calls, func(c judge.Call) bool { return c.Means == shop.Rejected })
		if i < 0 || has(o, shop.Accepted) {
			continue
		}
		left := map[string]shop.Pieces{"a": e.Stock["a"], "b": e.Stock["b"]}
		for _, other := range e.Orders {
			reached := slices.ContainsFunc(other.Calls, func(c judge.Call) bool { return !c.Unsent })
			rejected := has(other, shop.Rejected) && !has(other, shop.Accepted)
			if other == o || !reached || sent(other) >= o.Calls[i].Done || rejected && done(other) <= sent(o) {
				continue
			}
			ids := map[string]bool{}
			for _, c := range other.Calls {
				if c.Order != "" {
					ids[c.Order] = true
				}
			}
			for _, it := range other.Basket {
				left[it.Product] -= it.Pieces * shop.Pieces(max(1, len(ids)))
			}
		}
		if !slices.ContainsFunc(o.Basket, func(it judge.Item) bool { return left[it.Product] < it.Pieces }) {
			n++
		}
	}
	return n
}
