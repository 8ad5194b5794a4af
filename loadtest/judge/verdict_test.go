package judge_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/judge"
	"orderstock/loadtest/judge/books"
	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/verify"
)

// world is what is known about a good phase: ten pieces, twelve orders one after another, two of them rejected.
func world() judge.Evidence {
	e := judge.Evidence{
		Stock: map[string]shop.Pieces{"1": 10 * shop.Whole}, Sold: []string{"SOLD"}, Void: []string{"VOID"},
		Passing: map[string]bool{},
		Before: &books.Books{
			Levels: []books.Level{{Product: "1", Pieces: 10 * shop.Whole}}, Orders: []books.Row{}, HasKeys: true, HasState: true,
		},
		After: &books.Books{
			Levels: []books.Level{{Product: "1", Pieces: 0}}, HasKeys: true, HasState: true, Orders: []books.Row{},
			Deductions: []books.Row{},
		},
	}
	for i := range 12 {
		id, key := fmt.Sprint(100+i), fmt.Sprint("k", i)
		c := judge.Call{Kind: judge.First, Sent: at(2 * i), Done: at(2*i + 1), Status: 201}
		c.Means, c.Order = shop.Accepted, id
		row := books.Row{ID: id, Key: key, Product: "1", Pieces: shop.Whole, State: "SOLD"}
		if i < 10 {
			e.After.Deductions = append(e.After.Deductions, books.Row{ID: id, Product: "1", Pieces: shop.Whole})
		} else {
			c.Status, c.Means, c.Order, row.State = 409, shop.Rejected, "", "VOID"
		}
		e.After.Orders = append(e.After.Orders, row)
		e.Orders = append(e.Orders, &judge.Order{
			Key: key, Basket: []judge.Item{{Product: "1", Pieces: shop.Whole}}, Calls: []judge.Call{c},
		})
	}
	return e
}

func at(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }

// sold is a row of a sold piece.
func sold(id, key, product string) books.Row {
	return books.Row{ID: id, Key: key, Product: product, Pieces: shop.Whole, State: "SOLD"}
}

// again adds a repeat of an order with that answer.
func again(e *judge.Evidence, i int, means shop.Means, id string) {
	c := judge.Call{Kind: judge.Late, Sent: at(100), Done: at(101), Status: 200}
	c.Means, c.Order = means, id
	e.Orders[i].Calls = append(e.Orders[i].Calls, c)
}

// silent makes an order one without an answer.
func silent(e *judge.Evidence, i int) {
	c := &e.Orders[i].Calls[0]
	c.Failure, c.Status, c.Means, c.Order = "no answer within the timeout", 0, shop.Unknown, ""
}

func withoutBooks(e *judge.Evidence)   { e.Before, e.After = nil, nil }
func remove(e *judge.Evidence, i int)  { e.After.Orders = slices.Delete(e.After.Orders, i, i+1) }
func level(e *judge.Evidence, n int64) { e.After.Levels[0].Pieces = shop.Pieces(n) * shop.Whole }

// Pieces of orders that have not ended count as held, and the text adds them up.
func TestPendingOrdersAreAddedToTheSold(t *testing.T) {
	t.Parallel()
	e := world()
	e.Passing["NEW"] = true
	for i := range 3 {
		e.After.Orders[i].State, e.Orders[i].Halted = "NEW", "step 1 of then: no answer"
	}
	remove(&e, 9)
	v := judge.Judge(e)
	want := "10 pieces of product 1 left the stock (10 → 0), and the orders hold 6 sold + 3 pending = 9"
	if !slices.ContainsFunc(v.Violations, func(v judge.Violation) bool { return v.Examples[0].Text == want }) {
		t.Errorf("%+v; want %s", v.Violations, want)
	}
}

// A few steps that could not be done change nothing, and are noted.
func TestAFewStepsThatCouldNotBeDoneAreNoted(t *testing.T) {
	t.Parallel()
	e := world()
	withoutBooks(&e)
	for i := range 3 {
		e.Orders[i].Halted = "step 1 of then was answered 402 declined"
	}
	p := judge.Phase{Name: judge.Together, Verdict: *judge.Judge(e)}
	var out strings.Builder
	p.Write(&out)
	const want = "  note: of 3 orders, a step of then could not be done: 3× step 1 of then was answered 402 declined\n"
	if p.Outcome != verify.Pass || !strings.Contains(out.String(), want) {
		t.Errorf("%s", &out)
	}
}

// What cancels have done is found out with later orders. The example leads back to the cancels that met.
func TestAFindingLeadsToTheCancelsThatMet(t *testing.T) {
	t.Parallel()
	cancel := func(e *judge.Evidence, i, sent int) {
		c := judge.Call{Kind: judge.Cancel, Sent: at(sent), Done: at(sent + 5), Status: 200}
		c.Means = shop.Cancelled
		e.Orders[i].Calls = append(e.Orders[i].Calls, c)
		e.After.Orders[i].State = "VOID"
	}
	later := func(e *judge.Evidence, means shop.Means) {
		for i, o := range e.Orders[10:] {
			c := &o.Calls[0]
			c.Sent, c.Done, c.Means, c.Order = at(200+2*i), at(201+2*i), means, ""
			if means == shop.Accepted {
				c.Order = fmt.Sprint(110 + i)
			}
		}
	}
	for name, c := range map[string]struct {
		change              func(*judge.Evidence)
		violated, key, says string
	}{
		"pieces that did not come back": {func(e *judge.Evidence) {
			cancel(e, 2, 50)
			cancel(e, 3, 52)
		}, judge.StockMatchesOrders, "k3", "met: key k2, cancel"},
		"with a payment that was refused at the same moment": {func(e *judge.Evidence) {
			cancel(e, 2, 50)
			cancel(e, 3, 52)
			e.Orders[3].Calls = append(e.Orders[3].Calls,
				judge.Call{Kind: judge.Race, Sent: at(52), Done: at(56), Status: 409, Reading: shop.Reading{Means: shop.Unknown}})
		}, judge.StockMatchesOrders, "k3", "met: key k2, cancel"},
		"pieces that came back twice, and were sold": {func(e *judge.Evidence) {
			cancel(e, 2, 50)
			cancel(e, 2, 52)
			later(e, shop.Accepted)
			withoutBooks(e)
		}, judge.NotOversold, "k2", "cancel at    52.0 ms"},
		"a rejection after it": {func(e *judge.Evidence) {
			cancel(e, 2, 50)
			cancel(e, 3, 52)
			later(e, shop.Rejected)
		}, judge.RejectedOnlyWhenShort, "k10", "; before it, the cancels of the keys k2 and k3 met"},
		"an order that was cancelled and is sold": {func(e *judge.Evidence) {
			cancel(e, 2, 50)
			cancel(e, 3, 52)
			cancel(e, 5, 60)
			level(e, 3)
			e.After.Orders[5].State = "SOLD"
		}, judge.StockMatchesOrders, "k5", "7 pieces of product 1 left the stock (10 → 3), and the orders hold 8"},
		"an oversale before any cancel": {func(e *judge.Evidence) {
			withoutBooks(e)
			e.Orders[10].Calls[0].Means, e.Orders[10].Calls[0].Order = shop.Accepted, "110"
			e.Orders[11].Calls[0].Means, e.Orders[11].Calls[0].Order = shop.Accepted, "111"
			e.After = world().After
			cancel(e, 2, 50)
			e.After = nil
		}, judge.NotOversold, "k11", "11 pieces of product 1 were accepted"},
	} {
		e := world()
		c.change(&e)
		p := judge.Phase{Name: judge.Cancelled, Verdict: *judge.Judge(e)}
		var out strings.Builder
		p.Write(&out)
		i := slices.Index(p.Violated(), c.violated)
		if i < 0 || p.Violations[i].Examples[0].Key != c.key || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: want %s of %s, and %q in\n%s", name, c.violated, c.key, c.says, &out)
		}
	}
}

// If the requests do not say how many pieces they order, and each order in the books has the same other number, the
// file is wrong, and not the shop.
func TestTheBodyOrdersOtherPieces(t *testing.T) {
	t.Parallel()
	e := world()
	level(&e, -10)
	for i := range e.After.Orders {
		e.After.Orders[i].Pieces *= 2
	}
	if v := judge.Judge(e); v.Outcome != verify.Violation {
		t.Errorf("pieces that the request names: %+v", v)
	}
	e.Unnamed = true
	v := judge.Judge(e)
	const want = "each order in the books is for 2 of product 1, and the judge counts 1: if the request orders 2, write " +
		"baskets: [{\"1\": 2}] under order, and \"{{pieces}}\" in the place of the number"
	if v.Outcome != verify.Unknown || len(v.Violations) > 0 || !slices.Contains(v.Reasons, want) {
		t.Errorf("%+v; want %s", v, want)
	}
	e.After.Orders[3].Pieces = shop.Whole
	if v := judge.Judge(e); v.Outcome != verify.Violation {
		t.Errorf("one order in the books has other pieces: %+v", v)
	}
}

// Each change to a good phase violates what it should, and nothing else.
func TestWhatIsViolated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*judge.Evidence)
		want   string // the violations, or nothing
	}{
		"good":                                   {func(*judge.Evidence) {}, ""},
		"good without books":                     {withoutBooks, ""},
		"good without keys":                      {func(e *judge.Evidence) { keyless(e) }, ""},
		"good with keys that are UUIDs":          {func(e *judge.Evidence) { rekey(e, true) }, ""},
		"good with keys that are something else": {func(e *judge.Evidence) { rekey(e, false); silent(e, 4) }, ""},
		"rejected early, while carts hold pieces": {func(e *judge.Evidence) {
			e.Orders[10].Calls[0].Sent, e.Orders[10].Calls[0].Done = at(1), at(2)
			e.Reserved = true
		}, ""},
		"good without orders": {func(e *judge.Evidence) { e.After.Orders, e.After.Deductions = nil, nil }, ""},
		"good without stock":  {func(e *judge.Evidence) { e.After.Levels = nil }, ""},
		"oversold, by answers": {func(e *judge.Evidence) {
			withoutBooks(e)
			e.Orders[10].Calls[0].Means, e.Orders[10].Calls[0].Order = shop.Accepted, "110"
		}, judge.NotOversold},
		"oversold, and the counter hides it": {func(e *judge.Evidence) {
			silent(e, 10)
			e.After.Orders[10].State = "SOLD"
			e.After.Deductions = append(e.After.Deductions, books.Row{ID: "110", Product: "1", Pieces: shop.Whole})
		}, "not-oversold stock-matches-orders"},
		"below zero": {func(e *judge.Evidence) { level(e, -1) }, "not-oversold stock-matches-orders"},
		"one row is below zero": {func(e *judge.Evidence) {
			level(e, -1)
			e.After.Levels = append(e.After.Levels, books.Level{Product: "1", Pieces: shop.Whole})
		}, judge.NotOversold},
		"two orders of one key": {func(e *judge.Evidence) {
			withoutBooks(e)
			again(e, 3, shop.Accepted, "777")
		}, judge.OneOrderPerKey},
		"two orders of one key in the books alone": {func(e *judge.Evidence) {
			remove(e, 4)
			e.Orders[4].Calls[0].Means, e.Orders[4].Calls[0].Order = shop.Unknown, ""
			e.After.Orders = append(e.After.Orders, sold("777", "k3", "1"))
			e.After.Deductions[4].ID = "777"
		}, judge.OneOrderPerKey},
		"two orders of one key that is a number": {func(e *judge.Evidence) {
			for i, o := range e.Orders {
				o.Number = int64(1_800_000_000_000_000 + i)
				e.After.Orders[i].Key = fmt.Sprint(o.Number)
			}
			remove(e, 4)
			e.Orders[4].Calls[0].Means, e.Orders[4].Calls[0].Order = shop.Unknown, ""
			e.After.Orders = append(e.After.Orders, sold("777", fmt.Sprint(e.Orders[3].Number), "1"))
			e.After.Deductions[4].ID = "777"
		}, judge.OneOrderPerKey},
		"two keys of one order": {func(e *judge.Evidence) {
			withoutBooks(e)
			again(e, 3, shop.Accepted, "104")
		}, judge.OneOrderPerKey},
		"a repeat": {func(e *judge.Evidence) {
			again(e, 3, shop.Accepted, "103")
			again(e, 11, shop.Rejected, "")
		}, ""},
		"accepted, then rejected": {func(e *judge.Evidence) { again(e, 3, shop.Rejected, "") }, judge.OneAnswerPerKey},
		"accepted, then unknown":  {func(e *judge.Evidence) { again(e, 3, shop.Unknown, "") }, ""},
		"rejected too early": {func(e *judge.Evidence) {
			e.Orders[10].Calls[0].Sent, e.Orders[10].Calls[0].Done = at(1), at(2)
		}, judge.RejectedOnlyWhenShort},
		"rejected while others are on their way": {func(e *judge.Evidence) {
			for i := range 10 {
				e.Orders[i].Calls[0].Sent = 0
			}
			e.Orders[10].Calls[0].Sent, e.Orders[10].Calls[0].Done = at(0), at(1)
		}, ""},
		"more left the stock than was sold": {func(e *judge.Evidence) {
			e.Before.Levels[0].Pieces += shop.Whole
		}, judge.StockMatchesOrders},
		"less left the stock than was sold": {func(e *judge.Evidence) { level(e, 1) }, judge.StockMatchesOrders},
		"without orders, less left the stock than was accepted": {func(e *judge.Evidence) {
			e.After.Orders, e.After.Deductions = nil, nil
			level(e, 1)
		}, judge.StockMatchesOrders},
		"an accepted order is missing": {func(e *judge.Evidence) {
			remove(e, 2)
			level(e, 1)
			e.After.Deductions = nil
		}, judge.AcceptedIsKept},
		"an accepted order is void": {func(e *judge.Evidence) {
			e.After.Orders[2].State = "VOID"
			level(e, 1)
		}, judge.AcceptedIsKept},
		"an accepted order has other items": {func(e *judge.Evidence) {
			e.After.Orders[2].Pieces, e.After.Orders[3].Pieces = 2*shop.Whole, 0
			e.After.Deductions = nil
		}, judge.AcceptedIsKept},
		"an accepted order has its item twice": {func(e *judge.Evidence) {
			e.After.Orders = append(e.After.Orders, e.After.Orders[2])
			e.After.Deductions = nil
			e.Before.Levels[0].Pieces += shop.Whole
		}, "not-oversold accepted-is-kept"},
		"an accepted order has another product": {func(e *judge.Evidence) {
			e.After.Orders = append(e.After.Orders, sold("102", "k2", "2"))
			e.After.Deductions = nil
		}, judge.AcceptedIsKept},
		"a rejected order is sold": {func(e *judge.Evidence) {
			e.After.Orders[10].State, e.Before.Levels[0].Pieces = "SOLD", 11*shop.Whole
			e.Stock["1"] = 11 * shop.Whole
			e.After.Deductions = nil
		}, "rejected-only-when-short rejected-is-not-sold"},
		"a row of nobody": {func(e *judge.Evidence) {
			e.After.Orders = append(e.After.Orders, sold("9", "other", "2"))
			e.After.Deductions = nil
		}, judge.Unexplained},
		"a row of nobody, without keys": {func(e *judge.Evidence) {
			keyless(e)
			e.After.Orders = append(e.After.Orders, books.Row{ID: "9", Product: "2", Pieces: shop.Whole, State: "SOLD"})
			e.After.Deductions = nil
		}, judge.Unexplained},
		"a row of a call without an answer": {func(e *judge.Evidence) { keyless(e); silent(e, 4) }, ""},
		"a row of an order whose payment failed, or of a call without an answer": {func(e *judge.Evidence) {
			keyless(e)
			silent(e, 4)
			silent(e, 5)
			e.Orders[5].Halted, e.Passing["NEW"] = "step 1 of then was answered 500", true
			e.After.Orders[4].State = "NEW"
		}, ""},
		"a row of a cancelled order without an id, or of a call without an answer": {func(e *judge.Evidence) {
			keyless(e)
			silent(e, 4)
			silent(e, 5)
			for _, means := range []shop.Means{shop.Accepted, shop.Cancelled} {
				kind := map[shop.Means]judge.Kind{shop.Accepted: judge.Then, shop.Cancelled: judge.Cancel}[means]
				c := judge.Call{Kind: kind, Sent: at(50), Done: at(51), Status: 200, Reading: shop.Reading{Means: means}}
				e.Orders[4].Calls = append(e.Orders[4].Calls, c)
			}
			remove(e, 4)
			e.After.Deductions = nil
			level(e, 1)
		}, ""},
		"a cart of a rejected order beside it": {func(e *judge.Evidence) {
			keyless(e)
			silent(e, 4)
			cart := sold("001", "", "1") // before the others in the books
			cart.State = "VOID"
			e.After.Orders = append([]books.Row{cart}, e.After.Orders...)
		}, ""},
		"a row from before": {func(e *judge.Evidence) {
			row := sold("9", "old", "1")
			e.Before.Orders, e.After.Orders = append(e.Before.Orders, row), append(e.After.Orders, row)
		}, ""},
		"deducted twice": {func(e *judge.Evidence) {
			e.After.Deductions = append(e.After.Deductions, e.After.Deductions[0])
		}, judge.DeductedOnce},
		"not deducted": {func(e *judge.Evidence) {
			e.After.Deductions = e.After.Deductions[1:]
		}, judge.DeductedOnce},
		"deducted too much": {func(e *judge.Evidence) {
			e.After.Deductions[0].Pieces = 2 * shop.Whole
		}, judge.DeductedOnce},
		"deducted, negative": {func(e *judge.Evidence) { e.After.Deductions[0].Pieces = -shop.Whole }, ""},
		"deducted for nobody": {func(e *judge.Evidence) {
			e.After.Deductions = append(e.After.Deductions, books.Row{ID: "9", Product: "1", Pieces: shop.Whole})
		}, judge.DeductedOnce},
		"deducted of another product, too": {func(e *judge.Evidence) {
			e.After.Deductions = append(e.After.Deductions, books.Row{ID: "100", Product: "2", Pieces: shop.Whole})
		}, judge.DeductedOnce},
		"does not serve any more": {
			func(e *judge.Evidence) { e.Serves = true; after(e, shop.Unknown, 500) }, judge.KeepsServing,
		},
		"does not answer any more": {
			func(e *judge.Evidence) { e.Serves = true; after(e, shop.Unknown, 0) }, judge.KeepsServing,
		},
		"limits requests":            {func(e *judge.Evidence) { e.Serves = true; after(e, shop.Unknown, 429) }, ""},
		"refuses in an unlisted way": {func(e *judge.Evidence) { after(e, shop.Unknown, 500) }, ""},
		"serves on":                  {func(e *judge.Evidence) { e.Serves = true; after(e, shop.Rejected, 409) }, ""},
		"dies, and serves on": {func(e *judge.Evidence) {
			e.Deaths = []judge.Death{{Text: "exit status 1"}}
			after(e, shop.Rejected, 409)
		}, judge.KeepsServing},
		"left open": {func(e *judge.Evidence) {
			silent(e, 4)
			e.After.Orders[4].State = "NEW"
		}, judge.Settled},
		"accepted and left open": {func(e *judge.Evidence) {
			e.Passing["NEW"] = true
			e.After.Orders[4].State = "NEW"
		}, judge.Settled},
	} {
		e := world()
		c.change(&e)
		v := judge.Judge(e)
		if got := strings.Join(v.Violated(), " "); got != c.want {
			t.Errorf("%s: violated %q, want %q\n%+v\n%v", name, got, c.want, v.Violations, v.Reasons)
		}
		if c.want == "" && v.Outcome != verify.Pass {
			t.Errorf("%s: %s, %v; want a pass", name, v.Outcome, v.Reasons)
		}
	}
}

// after adds an order that was sent after the phase.
func after(e *judge.Evidence, means shop.Means, status int) {
	c := judge.Call{Kind: judge.Probe, Sent: at(200), Done: at(201), Status: status}
	c.Means = means
	e.Orders = append(e.Orders, &judge.Order{
		Key: "probe", Basket: []judge.Item{{Product: "1", Pieces: shop.Whole}}, Calls: []judge.Call{c}, Probe: true,
	})
}

// rekey gives the rows keys of another form, which the orders know or not.
func rekey(e *judge.Evidence, known bool) {
	for i, o := range e.Orders {
		e.After.Orders[i].Key = fmt.Sprintf("8a1c4b7e-0000-4000-8000-%012d", i)
		if known {
			o.UUID = strings.ToUpper(e.After.Orders[i].Key)
		}
	}
	silent(e, 3)
}

// keyless takes the keys, and the rows of rejected orders, out of the books.
func keyless(e *judge.Evidence) {
	e.After.HasKeys = false
	e.After.Orders = e.After.Orders[:10]
	for i := range e.After.Orders {
		e.After.Orders[i].Key = ""
	}
}

// What cannot be shown is unknown, with a reason, and never a pass.
func TestWhatCannotBeShown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*judge.Evidence)
		want   string
	}{
		"no order": {func(e *judge.Evidence) { e.Orders = nil; withoutBooks(e) }, "no order was sent"},
		"a rate limit": {func(e *judge.Evidence) {
			withoutBooks(e)
			for i, o := range e.Orders {
				if i > 2 {
					o.Calls[0] = judge.Call{Status: 429, Body: "slow down", Reading: shop.Reading{Means: shop.Unknown}}
				}
			}
		}, "most orders have no known end: 9× 429 slow down"},
		"a login that failed": {func(e *judge.Evidence) {
			withoutBooks(e)
			for _, o := range e.Orders {
				o.Calls[0] = judge.Call{Kind: judge.Buyer, Status: 401, Body: "no", Reading: shop.Reading{Means: shop.Unknown}}
			}
		}, "12× a step of the buyer failed: 401 no"},
		"everything rejected": {func(e *judge.Evidence) {
			withoutBooks(e)
			for _, o := range e.Orders {
				o.Calls[0].Means = shop.Rejected
			}
		}, "no order was accepted"},
		"nothing rejected": {func(e *judge.Evidence) {
			withoutBooks(e)
			e.Orders[10].Calls[0].Means, e.Orders[11].Calls[0].Means = shop.Unknown, shop.Unknown
		}, "nothing was rejected, and nothing was accepted too much: is the refusal under answers? 2× 409"},
		"too few orders": {func(e *judge.Evidence) {
			e.Orders = e.Orders[:10]
			e.After.Orders = e.After.Orders[:10]
		}, "no more was ordered than there is"},
		"a step that ended the orders": {func(e *judge.Evidence) {
			withoutBooks(e)
			e.Orders = e.Orders[:11]
			e.Orders[10].Calls[0] = judge.Call{
				Kind: judge.Buyer, Status: 200, Body: "the cart is full",
				Reading: shop.Reading{Means: shop.Unknown},
			}
		}, "could not show whether the shop oversells: 1× a step of the buyer failed: 200 the cart is full"},
		"the books do not move": {func(e *judge.Evidence) {
			e.After = &books.Books{Levels: e.Before.Levels, Orders: []books.Row{}, HasState: true}
		}, "neither the stock nor the orders in the books have changed"},
		"a state in no list": {func(e *judge.Evidence) {
			for i := range 10 {
				e.After.Orders[i].State = "CONFIRMED"
			}
		}, "orders are in the state CONFIRMED, which is in none"},
		"a state of the rejected in no list": {func(e *judge.Evidence) {
			e.After.Orders[10].State = "REFUSED"
		}, "orders are in the state REFUSED"},
		"a state that is NULL": {func(e *judge.Evidence) {
			e.After.Orders[10].State = shop.Null
		}, "orders are in the state NULL"},
	} {
		e := world()
		c.change(&e)
		v := judge.Judge(e)
		if v.Outcome != verify.Unknown || !strings.Contains(strings.Join(v.Reasons, "\n"), c.want) {
			t.Errorf("%s: %s, %q, %v; want unknown: %s", name, v.Outcome, v.Reasons, v.Violated(), c.want)
		}
	}
}

// cancelled adds the answer to a cancel of the first order.
func cancelled(e *judge.Evidence, means shop.Means, status int) {
	c := judge.Call{Kind: judge.Cancel, Sent: at(50), Done: at(51), Status: status}
	c.Means = means
	e.Orders[0].Calls = append(e.Orders[0].Calls, c)
}

// A cancelled order is not sold, and its pieces are back, once. If its cancel has no known end, both are
// right.
func TestACancelledOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		means  shop.Means
		status int
		state  string // "" if the row is gone
		stock  shop.Pieces
		want   string
	}{
		{shop.Cancelled, 200, "VOID", 1, ""},
		{shop.Cancelled, 204, "", 1, ""},
		{shop.Cancelled, 200, "VOID", 0, "stock-matches-orders"},
		{shop.Cancelled, 200, "VOID", 2, "stock-matches-orders"},
		{shop.Cancelled, 200, "SOLD", 0, "cancelled-is-not-sold"},
		{shop.Unknown, 0, "SOLD", 0, ""},
		{shop.Unknown, 500, "VOID", 1, ""},
		{shop.Unknown, 409, "SOLD", 0, ""},
		{shop.Unknown, 409, "VOID", 1, "accepted-is-kept"},
	} {
		e := world()
		cancelled(&e, c.means, c.status)
		e.After.Levels[0].Pieces = c.stock * shop.Whole
		if e.After.Orders[0].State = c.state; c.state == "" {
			e.After.Orders = e.After.Orders[1:]
		}
		v := judge.Judge(e)
		if got := strings.Join(v.Violated(), " "); got != c.want {
			t.Errorf("%+v: violated %q", c, got)
		}
	}
}

// Without the column state, cancelled orders that stay in the books while their pieces come back are a mistake of the
// file. If the pieces do not come back, or an order vanishes, it is the shop.
func TestCancelledOrdersWithoutAState(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*judge.Evidence)
		want   string
	}{
		"still there, and the pieces are back": {func(e *judge.Evidence) { level(e, 1) }, ""},
		"the same, without a stock":            {func(e *judge.Evidence) { e.After.Levels = nil }, ""},
		"the same, sold again": {func(e *judge.Evidence) {
			e.Orders[10].Calls[0].Means, e.Orders[10].Calls[0].Order = shop.Accepted, "110"
			e.After.Orders = append(e.After.Orders, sold("110", "k10", "1"))
		}, ""},
		"still there, and the pieces are not back": {func(*judge.Evidence) {}, "cancelled-is-not-sold"},
		"it vanished, but the pieces are not back": {func(e *judge.Evidence) { remove(e, 0) }, "stock-matches-orders"},
		"it vanished": {func(e *judge.Evidence) { remove(e, 0); level(e, 1) }, "nothing"},
		"one of two vanished": {func(e *judge.Evidence) {
			e.Orders[1].Calls = append(e.Orders[1].Calls, e.Orders[0].Calls[1])
			remove(e, 0)
			level(e, 2)
		}, "stock-matches-orders cancelled-is-not-sold"},
	} {
		e := world()
		cancelled(&e, shop.Cancelled, 200)
		e.After.HasState, e.After.Deductions, e.After.Orders = false, nil, e.After.Orders[:10]
		c.change(&e)
		for i := range e.After.Orders {
			e.After.Orders[i].State = ""
		}
		v := judge.Judge(e)
		got := cmp.Or(strings.Join(v.Violated(), " "), "nothing")
		if v.Outcome == verify.Unknown && strings.Contains(strings.Join(v.Reasons, "\n"), "status AS state") {
			got = ""
		}
		if got != c.want {
			t.Errorf("%s: %s, violated %q, %q; want %q", name, v.Outcome, got, v.Reasons, c.want)
		}
	}
}

// No buyer has more than the limit. An order may be refused if its buyer has as much.
func TestTheLimitOfABuyer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*judge.Evidence)
		want   string
	}{
		"one each":    {func(*judge.Evidence) {}, ""},
		"two for one": {func(e *judge.Evidence) { e.Orders[4].Buyer = 4 }, "within-limit"},
		"one cancelled": {func(e *judge.Evidence) {
			e.Orders[0].Buyer, e.After.Orders[0].State = 2, "VOID"
			cancelled(e, shop.Cancelled, 200)
		}, ""},
		"refused": {func(e *judge.Evidence) {
			e.Orders[11].Buyer, e.Stock["1"] = 4, 99*shop.Whole
		}, "rejected-only-when-short"}, // the other one was refused for nothing
		"both refused": {func(e *judge.Evidence) {
			e.Orders[11].Buyer, e.Orders[10].Buyer, e.Stock["1"] = 4, 5, 99*shop.Whole
		}, ""},
		"in the books": {func(e *judge.Evidence) {
			e.Orders[4].Calls[0].Means, e.Orders[4].Buyer = shop.Unknown, 4
		}, "within-limit"},
		"two lost answers, and two orders": {func(e *judge.Evidence) {
			keyless(e)
			silent(e, 4)
			silent(e, 5)
			e.Orders[4].Buyer = 6
		}, "within-limit"},
		"three lost answers, and two orders": {func(e *judge.Evidence) { // one may be of the other buyer
			keyless(e)
			silent(e, 4)
			silent(e, 5)
			silent(e, 10)
			e.Orders[4].Buyer = 6
		}, ""},
		"two answers lost by one with another order": {func(e *judge.Evidence) {
			keyless(e)
			silent(e, 4)
			silent(e, 10)
			e.Orders[4].Buyer, e.Orders[10].Buyer = 6, 6
		}, "within-limit"},
		"a column says that it was the other one": {func(e *judge.Evidence) {
			keyless(e)
			silent(e, 4)
			silent(e, 5)
			silent(e, 10)
			e.Orders[4].Buyer = 6
			buyers(e)
		}, ""},
		"a column says that it was one": {func(e *judge.Evidence) {
			keyless(e)
			silent(e, 4)
			silent(e, 5)
			silent(e, 10)
			e.Orders[4].Buyer = 6
			buyers(e)
			e.After.Orders[4].Buyer = e.After.Orders[5].Buyer
		}, "within-limit"},
	} {
		e := world()
		e.Limit = shop.Whole
		for i, o := range e.Orders {
			o.Buyer = i + 1
		}
		c.change(&e)
		v := judge.Judge(e)
		got := ""
		for _, name := range v.Violated() {
			if name == "within-limit" || name == "rejected-only-when-short" {
				got = name
			}
		}
		if got != c.want {
			t.Errorf("%s: violated %v; want %q", name, v.Violated(), c.want)
		}
	}
}

// buyers gives each row in the books a buyer.
func buyers(e *judge.Evidence) {
	e.After.HasBuyers = true
	for i := range e.After.Orders {
		e.After.Orders[i].Buyer = fmt.Sprint("buyer", i)
	}
}

// The pieces of a cancelled order can be bought again, once the time to settle is over.
func TestACancelledOrderCanBeBoughtAgain(t *testing.T) {
	t.Parallel()
	for settle, want := range map[time.Duration]string{at(40): "rejected-only-when-short", at(100): ""} {
		e := world()
		e.Settle = settle
		cancelled(&e, shop.Cancelled, 200)
		e.After.Levels[0].Pieces, e.After.Orders[0].State = shop.Whole, "VOID"
		e.Orders[11].Calls[0].Sent, e.Orders[11].Calls[0].Done = at(95), at(96)
		if got := strings.Join(judge.Judge(e).Violated(), " "); got != want {
			t.Errorf("rejected 45 ms after the cancel, with %s to settle: violated %q; want %q", settle, got, want)
		}
	}
}

// What was not checked is said, with the reason; nothing else is said to be checked.
func TestWhatIsNotChecked(t *testing.T) {
	t.Parallel()
	const (
		rows       = "stock-matches-orders accepted-is-kept rejected-is-not-sold unexplained deducted-once settled"
		orderRows  = "accepted-is-kept rejected-is-not-sold unexplained deducted-once settled"
		notRepeats = "one-answer-per-key cancelled-is-not-sold "
	)
	for name, c := range map[string]struct {
		change    func(*judge.Evidence)
		want, why string
	}{
		"everything": {func(e *judge.Evidence) {
			again(e, 11, shop.Rejected, "")
			cancelled(e, shop.Cancelled, 200)
		}, "", ""},
		"no repeats": {func(*judge.Evidence) {}, notRepeats, "no order was sent twice"},
		"no books":   {withoutBooks, notRepeats + rows, "it needs books.orders"},
		"no stock": {
			func(e *judge.Evidence) { e.After.Levels = nil }, notRepeats + "stock-matches-orders", "it needs books.stock",
		},
		"no orders": {
			func(e *judge.Evidence) { e.After.Orders, e.After.Deductions = nil, nil }, notRepeats + orderRows,
			"it needs books.orders",
		},
		"no deductions": {
			func(e *judge.Evidence) { e.After.Deductions = nil }, notRepeats + "deducted-once", "it needs books.deductions",
		},
		"no states": {
			func(e *judge.Evidence) { e.After.Orders, e.After.HasState = e.After.Orders[:10], false },
			notRepeats + "settled", "it needs the column state",
		},
		"carts": {
			func(e *judge.Evidence) { e.Reserved = true }, notRepeats + "rejected-only-when-short", "carts hold pieces",
		},
		"a state in no list": {
			func(e *judge.Evidence) { e.After.Orders[10].State = "REFUSED" }, notRepeats + rows,
			"under books.sold or books.void",
		},
	} {
		e := world()
		e.Limit = 10 * shop.Whole
		after(&e, shop.Rejected, 409)
		c.change(&e)
		v := judge.Judge(e)
		var not, whys []string
		for _, u := range v.Unchecked {
			not, whys = append(not, u.Invariant), append(whys, u.Why)
		}
		if sorted(not) != sorted(strings.Fields(c.want)) || !strings.Contains(strings.Join(whys, "\n"), c.why) {
			t.Errorf("%s: not checked: %v, %q; want %s, %s", name, not, whys, c.want, c.why)
		}
		if all := slices.Concat(v.Checked, not); sorted(all) != sorted(judge.Invariants()) {
			t.Errorf("%s: checked %v and not checked %v are not all", name, v.Checked, not)
		}
	}
}

// A violation names the count, and the answer.
func TestWhatIsSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*judge.Evidence)
		want   string
	}{
		"one": {
			func(e *judge.Evidence) { remove(e, 2) },
			"  accepted-is-kept: order 102 was accepted, and is not in the books\n",
		},
		"two": {
			func(e *judge.Evidence) { remove(e, 2); remove(e, 2) },
			"  accepted-is-kept, 2 times, such as: order 102 was accepted, and is not in the books\n",
		},
		"oversold, by the answers, the books and the level": {
			func(e *judge.Evidence) {
				e.Orders[10].Calls[0].Means, e.Orders[10].Calls[0].Order = shop.Accepted, "110"
				e.After.Orders[10].State = "SOLD"
				level(e, -1)
			},
			"  not-oversold: 11 pieces of product 1 were accepted, and there were 10\n",
		},
		"oversold, and once more after the phase": {
			func(e *judge.Evidence) {
				e.Orders[10].Calls[0].Means, e.Orders[10].Calls[0].Order = shop.Accepted, "110"
				after(e, shop.Accepted, 201)
			},
			"  not-oversold: 12 pieces of product 1 were accepted, and there were 10; 1 of them ordered after the phase\n",
		},
		"pending": {
			func(e *judge.Evidence) { remove(e, 2); e.Orders[2].Calls[0].Means = shop.Pending },
			"  accepted-is-kept: order 102 was answered as pending, and is not in the books\n",
		},
	} {
		e := world()
		c.change(&e)
		var out strings.Builder
		p := judge.Phase{Name: judge.Alone, Verdict: *judge.Judge(e)}
		if p.Write(&out); !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: printed\n%s\nwant %s", name, &out, c.want)
		}
	}
}

// Bytes that a terminal would obey are shown, and not sent to it.
func TestBinaryIsEscaped(t *testing.T) {
	t.Parallel()
	e := world()
	withoutBooks(&e)
	e.Orders[10].Calls[0].Means, e.Orders[10].Calls[0].Order = shop.Accepted, "1\x1b[1m"
	e.Orders[10].Calls[0].Body = "\x1b[2J é \xff"
	var out strings.Builder
	p := judge.Phase{Name: judge.Alone, Verdict: *judge.Judge(e)}
	p.Write(&out)
	const want = `\x1b[2J é \xff → accepted, order 1\x1b[1m`
	if text := out.String(); !strings.Contains(text, want) || strings.Contains(text, "\x1b") {
		t.Errorf("printed %q", text)
	}
}

func sorted(names []string) string { return strings.Join(slices.Sorted(slices.Values(names)), " ") }

// A shop that serves little is named as loudly as one that is wrong.
func TestServedLittle(t *testing.T) {
	t.Parallel()
	e := world()
	for i := range 8 {
		silent(&e, i)
	}
	if got := judge.Judge(e).Loud(); got != "SERVED 4 OF 12" {
		t.Errorf("said %q", got)
	}
	if got := judge.Judge(world()).Loud(); got != "" {
		t.Errorf("of a good phase, said %q", got)
	}
}
