package judge

import (
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/judge/shop"
)

// Calls that met are in lanes beside each other, in the order of time, and the answer that is wrong is marked.
func TestWhatHappened(t *testing.T) {
	t.Parallel()
	call := func(kind Kind, sent, done int, means shop.Means, order string) Call {
		c := Call{Kind: kind, Sent: time.Duration(sent) * time.Millisecond, Done: time.Duration(done) * time.Millisecond}
		c.Status, c.Means, c.Order = 201, means, order
		return c
	}
	lost := call(Lost, 10, 12, shop.Unknown, "")
	silent := call(First, 10, 12, shop.Unknown, "")
	silent.Failure = "no answer within the timeout"
	many := Example{Text: "order 7 was cancelled, and is sold", Key: "k", Basket: "1 of product 1"}
	for i := range 9 {
		c := call(Then, 10+2*i, 11+2*i, shop.Accepted, "7")
		c.Step = i + 1
		many.Calls = append(many.Calls, c)
	}
	many.Calls = append(many.Calls, call(Cancel, 40, 41, shop.Cancelled, ""))
	for name, c := range map[string]struct {
		invariant string
		e         Example
		want      string
	}{
		"a buyer and another one": {NotOversold, Example{
			Text: "3 pieces of product 1 were accepted, and there were 2", Key: "k2", Basket: "1 of product 1",
			Calls: []Call{call(First, 10, 13, shop.Accepted, "3")}, Rows: []string{"order 3: 1 of product 1"},
			Met: &Met{"k1", "1 of product 1", []Call{call(First, 11, 12, shop.Accepted, "2")}},
		}, `
         a buyer, key k2                    another buyer, key k1
0.0 ms   orders 1 of product 1
1.0 ms                                      orders 1 of product 1
2.0 ms                                      hears 201: accepted, order 2
3.0 ms   hears 201: accepted, order 3
         ✗ 3 pieces of product 1 were
           accepted, and there were 2
         books: order 3: 1 of product 1
`},
		"a double click": {OneOrderPerKey, Example{
			Text: "key k was answered with the orders 1 and 2", Key: "k", Basket: "1 of product 1",
			Calls: []Call{call(First, 10, 13, shop.Accepted, "1"), call(Click, 10, 12, shop.Accepted, "2")},
		}, `
         a buyer, key k                     the same buyer, at the same time
0.0 ms   orders 1 of product 1
0.0 ms                                      clicks twice: the same bytes
2.0 ms                                      hears 201: accepted, order 2
                                            ✗ key k was answered with the
                                              orders 1 and 2
3.0 ms   hears 201: accepted, order 1
`},
		"a repeat": {OneAnswerPerKey, Example{
			Text: "key k was accepted and rejected", Key: "k", Basket: "1 of product 1",
			Calls: []Call{lost, call(Repeat, 12, 13, shop.Accepted, "1"), call(Late, 20, 21, shop.Rejected, "")},
		}, `
         a buyer, key k
0.0 ms   orders 1 of product 1
2.0 ms   hears nothing: the answer was lost on the way
2.0 ms   repeats the order: the same bytes
3.0 ms   hears 201: accepted, order 1
10.0 ms  repeats the order: the same bytes
11.0 ms  hears 201: rejected
         ✗ key k was accepted and rejected
`},
		"no answer": {KeepsServing, Example{
			Text: "the service does not serve any more", Key: "k", Basket: "1 of product 1", Calls: []Call{silent},
		}, `
         a buyer, key k
0.0 ms   orders 1 of product 1
2.0 ms   hears nothing: no answer within the timeout
         ✗ the service does not serve any more
`},
		"many calls": {CancelledIsNotSold, many, `
         a buyer, key k
0.0 ms   does step 1 after the order
1.0 ms   hears 201: accepted, order 7
2.0 ms   does step 2 after the order
3.0 ms   hears 201: accepted, order 7
4.0 ms   does step 3 after the order
5.0 ms   hears 201: accepted, order 7
6.0 ms   does step 4 after the order
7.0 ms   hears 201: accepted, order 7
30.0 ms  cancels the order
31.0 ms  hears 201: cancelled
         ✗ order 7 was cancelled, and is sold
`},
	} {
		var out strings.Builder
		c.e.scene(c.invariant).Text(&out)
		if got := "\n" + out.String(); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
	if s := (&Example{Text: "the service ended"}).scene(KeepsServing); s != nil {
		t.Errorf("without a call: %v", s)
	}
}
