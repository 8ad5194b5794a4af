package verify_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
	"orderstock/pkg/operation"
)

// An odd call has the answer that the READMEs allow, or the violation says which it should have been, and why. The run
// has one order, of one piece of product 1.
func TestOddCalls(t *testing.T) {
	t.Parallel()
	const place, put, pages, stock = "/v1/orders", "/v1/operations/{flag}", "/v1/orders", "/v1/stock"
	const restock = stock + "/{goods_id}/restock"
	recorded := `{"flag":"` + flag(0) + `","state":"DONE","reason":"","items":[{"goods_id":"1","num":1}],` +
		`"fencing_token":"","repeat":true}`
	refused := `{"type":"about:blank","title":"T","status":422,"code":"invalid_num","request_id":"r"}`
	twoDeductions := `{"operations":[{"flag":"odd","items":[{"goods_id":"1","num":0}]},` +
		`{"flag":"` + flag(0) + `","items":[{"goods_id":"1","num":1}]}]}`
	for name, try := range map[string]struct {
		call history.Aside
		want string // part of the violation; "" for none
	}{
		"no token": {
			history.Aside{Method: "GET", Route: stock, Path: stock, Token: "none", Code: 401, Problem: history.Unauthorized}, "",
		},
		"a token that is let in": {
			history.Aside{Method: "GET", Route: stock, Path: stock, Token: "a prefix", Code: 200, Answer: `{"goods":[]}`},
			"want 401 unauthorized, as the token is a prefix, found 200 for GET /v1/stock",
		},
		"other items under a used key": {
			history.Aside{
				Method: "POST", Route: place, Path: place, Key: "proof-0", Op: 0, Code: 422, Problem: history.KeyReused,
				Body: `{"items":[{"goods_id":"1","num":2}]}`,
			}, "",
		},
		"other items taken for a repeat": {
			history.Aside{
				Method: "POST", Route: place, Path: place, Key: "proof-0", Op: 0, Code: 201,
				Body: `{"items":[{"goods_id":"1","num":2}]}`,
			}, "want 422 idempotency_key_reused, as this key has an order of 1 of product 1, found 201",
		},
		"an odd line taken": {
			history.Aside{
				Method: "POST", Route: place, Path: place, Key: "k", Op: -1, Code: 201,
				Body: `{"items":[{"goods_id":"1","num":1},{"goods_id":"2","num":-5}]}`,
			}, "want 422 invalid_num, as -5 is no number of pieces, found 201",
		},
		"an unknown product among known ones": {
			history.Aside{
				Method: "POST", Route: place, Path: place, Key: "k", Op: -1, Code: 201,
				Body: `{"items":[{"goods_id":"1","num":1},{"goods_id":"2","num":1}]}`,
			}, "want 422 unknown_goods, as there is no product 2, found 201",
		},
		"any of two rules": {
			history.Aside{
				Method: "POST", Route: place, Path: place, Key: "k", Op: -1, Code: 422, Problem: history.DuplicateGoods,
				Body: `{"items":[{"goods_id":"1","num":1},{"goods_id":"1","num":0}]}`,
			}, "",
		},
		"a key that is none": {
			history.Aside{Method: "POST", Route: place, Path: place, Key: "a b", Op: -1, Code: 201, Body: `{"items":[]}`},
			`want 400 invalid_idempotency_key, as the key "a b" is none, found 201`,
		},
		"a quoted key refused": {
			history.Aside{
				Method: "POST", Route: place, Path: place, Key: `"a\"b"`, Op: -1, Code: 400, Problem: history.InvalidKey,
				Body: `{"items":[]}`,
			}, `want 422 invalid_items, as it has 0 lines, found 400`,
		},
		"a long flag": {
			history.Aside{
				Method: "PUT", Route: put, Path: "/v1/operations/" + strings.Repeat("x", 65), Op: -1, Code: 200,
				Body: `{"items":[{"goods_id":"1","num":1}]}`,
			}, "want 422 invalid_flag, as flag cannot be",
		},
		"another restock under the flag": {
			history.Aside{
				Method: "POST", Route: restock, Path: "/v1/stock/1/restock", Op: -1, Code: 200,
				Body: `{"flag":"restock-proof-0","num":6,"name":"load test proof","price":100}`,
			}, "want 409 flag_conflict, as this flag has a restock of 5 of product 1 at 100, found 200",
		},
		"a restock of fewer than none": {
			history.Aside{
				Method: "POST", Route: restock, Path: "/v1/stock/1/restock", Op: -1, Code: 200, Body: `{"flag":"f","num":-5}`,
			}, "want 422 invalid_num, as num cannot be -5, found 200",
		},
		"a restock of a text": {
			history.Aside{
				Method: "POST", Route: restock, Path: "/v1/stock/1/restock", Op: -1, Code: 400, Problem: history.InvalidField,
				Body: `{"flag":"f","num":"5"}`,
			}, "",
		},
		"a restock without a flag": {
			history.Aside{
				Method: "POST", Route: restock, Path: "/v1/stock/1/restock", Op: -1, Code: 200, Body: `{"num":5}`,
			}, "want 422 invalid_flag, as there is no flag, found 200",
		},
		"a price below zero": {
			history.Aside{
				Method: "POST", Route: restock, Path: "/v1/stock/1/restock", Op: -1, Code: 422, Problem: history.InvalidPrice,
				Body: `{"flag":"f","num":5,"price":-1}`,
			}, "",
		},
		"a name with a control character": {
			history.Aside{
				Method: "POST", Route: restock, Path: "/v1/stock/1/restock", Op: -1, Code: 200,
				Body: `{"flag":"f","num":5,"name":"a\n"}`,
			}, `want 422 invalid_name, as name cannot be "a\n", found 200`,
		},
		"no name and no price": {
			history.Aside{
				Method: "POST", Route: restock, Path: "/v1/stock/1/restock", Op: -1, Code: 422, Problem: history.InvalidNum,
				Body: `{"flag":"f","num":0,"name":null,"price":null}`,
			}, "",
		},
		"a restock under an order's flag": {
			history.Aside{
				Method: "POST", Route: restock, Path: "/v1/stock/1/restock", Op: 0, Code: 409, Problem: history.FlagConflict,
				Body: `{"flag":"` + flag(0) + `","num":5}`,
			}, "",
		},
		"a restock taken under an order's flag": {
			history.Aside{
				Method: "POST", Route: restock, Path: "/v1/stock/1/restock", Op: 0, Code: 200,
				Body: `{"flag":"` + flag(0) + `","num":5}`,
			}, "want 409 flag_conflict, as this key has an order of 1 of product 1, found 200",
		},
		"deductions together": {
			history.Aside{
				Method: "POST", Route: "/v1/operations", Path: "/v1/operations", Op: -1, Code: 200, Body: twoDeductions,
				Answer: `{"index":1,"operation":` + recorded + `}` + "\n" +
					`{"index":0,"problem":` + refused + `}` + "\n",
			}, "",
		},
		"deductions together, one for another": {
			history.Aside{
				Method: "POST", Route: "/v1/operations", Path: "/v1/operations", Op: -1, Code: 200, Body: twoDeductions,
				Answer: `{"index":1,"operation":` + recorded + `}` + "\n" + `{"index":0,"operation":` + recorded + `}` + "\n",
			}, "want a line for each deduction, as if it had come alone",
		},
		"deductions together, one twice": {
			history.Aside{
				Method: "POST", Route: "/v1/operations", Path: "/v1/operations", Op: -1, Code: 200, Body: twoDeductions,
				Answer: `{"index":1,"operation":` + recorded + `}` + "\n" + `{"index":1,"operation":` + recorded + `}` + "\n",
			}, "want a line for each deduction, as if it had come alone",
		},
		"deductions together, with other items": {
			history.Aside{
				Method: "POST", Route: "/v1/operations", Path: "/v1/operations", Op: -1, Code: 200, Body: twoDeductions,
				Answer: `{"index":1,"operation":` + strings.Replace(recorded, `"num":1`, `"num":2`, 1) + `}` + "\n" +
					`{"index":0,"problem":` + refused + `}` + "\n",
			}, "want a line for each deduction, as if it had come alone",
		},
		"flow rows": {
			history.Aside{
				Method: "GET", Route: "/v1/flows", Path: "/v1/flows?flag=none&flag=" + flag(0), Op: -1, Code: 200,
				Answer: `{"operations":[` + recorded + `],"flows":[{"flag":"` + flag(0) +
					`","goods_id":"1","kind":"deduct","num":-1,"created_at":"2001-09-09T01:46:41Z"}]}`,
			}, "",
		},
		"flow rows that are missing": {
			history.Aside{
				Method: "GET", Route: "/v1/flows", Path: "/v1/flows?flag=none&flag=" + flag(0), Op: -1, Code: 200,
				Answer: `{"operations":[` + recorded + `],"flows":[]}`,
			}, "want a flag that was asked for, the items of its order, and their flow rows",
		},
		"flow rows of another time zone": {
			history.Aside{
				Method: "GET", Route: "/v1/flows", Path: "/v1/flows?flag=" + flag(0), Op: -1, Code: 200,
				Answer: `{"operations":[` + recorded + `],"flows":[{"flag":"` + flag(0) +
					`","goods_id":"1","kind":"deduct","num":-1,"created_at":"2001-09-09T09:46:41Z"}]}`,
			}, "want a date within the run, or nearly, found 2001-09-09T09:46:41Z",
		},
		"flow rows of another flag": {
			history.Aside{
				Method: "GET", Route: "/v1/flows", Path: "/v1/flows?flag=none", Op: -1, Code: 200,
				Answer: `{"operations":[],"flows":[{"flag":"` + flag(0) +
					`","goods_id":"1","kind":"deduct","num":-1,"created_at":"2001-09-09T01:46:41Z"}]}`,
			}, "want flow rows of the flags that were asked for, found deduct -1",
		},
		"a field that no document names": {
			history.Aside{
				Method: "GET", Route: stock + "/{goods_id}", Path: stock + "/1", Op: -1, Code: 200,
				Answer: `{"goods_id":"1","name":"load test proof","price":100,"num":4,"cost":7}`,
			}, "want a body by the contract",
		},
		"a media type that is let in": {
			history.Aside{
				Method: "POST", Route: place, Path: place, Key: "k", Media: "text/plain", Op: -1, Code: 422,
				Problem: history.UnknownGoods, Body: `{"items":[{"goods_id":"1","num":1}]}`,
			}, "want 415 unsupported_media_type, as the body is said to be text/plain, found 422",
		},
		"a page that ends too early": {
			history.Aside{
				Method: "GET", Route: pages, Path: pages + "?limit=50", Op: -1, Code: 200, All: 20, Next: firstOrder,
				Listed: slices.Repeat([]history.Listed{{
					Order: firstOrder, Total: 100, Named: history.ItemsAsSent, Status: history.Confirmed, AsAnswered: true,
				}}, 20),
			}, "want up to 50 orders on a page, and so many if others follow, found 20: 200 for",
		},
		"a page of one status": {
			history.Aside{Method: "GET", Route: pages, Path: pages + "?status=REJECTED", Op: -1, Code: 200}, "",
		},
		"a page of one status that lacks an order": {
			history.Aside{Method: "GET", Route: pages, Path: pages + "?status=CONFIRMED", Op: -1, Code: 200},
			"want the order, which was there, on the page",
		},
		"a status that is ignored": {
			history.Aside{
				Method: "GET", Route: pages, Path: pages + "?status=REJECTED", Op: -1, Code: 200, All: 1,
				Listed: []history.Listed{{
					Order: firstOrder, Total: 100, Named: history.ItemsAsSent, Status: history.Confirmed, AsAnswered: true,
				}},
			}, "want orders that are REJECTED alone, found CONFIRMED: 200 for",
		},
		"a limit that is ignored": {
			history.Aside{Method: "GET", Route: pages, Path: pages + "?limit=1&after=1", Op: -1, Code: 200, All: 50, Next: 9},
			"want up to 1 orders on a page",
		},
		"an order that is missing": {
			history.Aside{Method: "GET", Route: pages, Path: pages, Op: -1, Code: 200},
			"want the order, which was there, on the page",
		},
		"a young order with follow": {
			history.Aside{
				Method: "GET", Route: pages, Path: pages + "?follow=true", Op: -1, Code: 200, All: 1, Next: firstOrder,
				Listed: []history.Listed{{
					Order: firstOrder, Total: 100, Named: history.ItemsAsSent, Status: history.Confirmed, AsAnswered: true,
				}},
			}, "want no order that is less than a minute old",
		},
		"a product": {
			history.Aside{
				Method: "GET", Route: stock + "/{goods_id}", Path: stock + "/1", Op: -1, Code: 200,
				Answer: `{"goods_id":"1","name":"load test proof","price":100,"num":4}`,
			}, "",
		},
		"an old level": {
			history.Aside{
				Method: "GET", Route: stock + "/{goods_id}", Path: stock + "/1", Op: -1, Code: 200,
				Answer: `{"goods_id":"1","name":"load test proof","price":100,"num":5}`,
			}, "want 4 to 4 pieces at a price in force, under the name, found 5 at 100",
		},
		"a refusal without a hint": {
			history.Aside{
				Method: "GET", Route: stock, Path: stock, Op: -1, Code: 503, Problem: history.Overloaded, NoHint: true,
			}, "want an answer by the contract, found 503 overloaded",
		},
	} {
		h := oneOrder()
		try.call.Row, try.call.Sent, try.call.Done = "odd", 3*time.Second, 4*time.Second
		h.Asides = []history.Aside{try.call}
		v := verify.Judge(soldOnce(h), h, verify.Terms{})
		var text strings.Builder
		_ = v.Write(&text, false)
		if try.want == "" && v.Outcome != verify.Pass || !strings.Contains(text.String(), try.want) ||
			try.want != "" && v.Outcome != verify.Violation {
			t.Errorf("%s: want %q:\n%s", name, try.want, &text)
		}
	}
}

// TestADateOfAnotherZone: clocks may differ by less than an hour.
func TestADateOfAnotherZone(t *testing.T) {
	t.Parallel()
	for off, want := range map[time.Duration]verify.Outcome{
		-8 * time.Hour: verify.Violation, -40 * time.Minute: verify.Pass,
		40 * time.Minute: verify.Pass, time.Hour: verify.Violation,
	} {
		for name, date := range map[string]func(*verify.Tables) *int64{
			"order":    func(b *verify.Tables) *int64 { return &b.Orders[0].Created },
			"flow row": func(b *verify.Tables) *int64 { return &b.Flows[1].Created },
		} {
			h := oneOrder()
			books := rowsOf(h)
			books.At = h.Started.Add(3 * time.Second)
			*date(books) = created + off.Microseconds()
			h.Calls[0].Created = books.Orders[0].Created
			if v := verify.Judge(books.Books(), h, verify.Terms{}); v.Outcome != want ||
				want == verify.Violation && !slices.Equal(v.Violated(), []string{verify.Unexplained}) {
				t.Errorf("%s, %s off: %s: %v, want %s", name, off, v, v.Violated(), want)
			}
		}
	}
}

// An answer about an order has all parts of its form as the books have them, or the violation says which has not, and
// how it should be.
func TestPartsOfAnAnswer(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(h *history.History, c *history.Call){
		"want order 1800000000000000000 with a total of 100, found order 1800000000000000000 with a total of 101: place " +
			"at 1s, after 1s: 201 CONFIRMED": func(_ *history.History, c *history.Call) { c.Total++ },
		`want the header Location: "order", found the header Location: "elsewhere": place`: func(
			_ *history.History, c *history.Call,
		) {
			c.Location = history.Elsewhere
		},
		`want the date 1000000000000000 µs, the reason "", found the date 0 µs, the reason "why": place`: func(
			h *history.History, c *history.Call,
		) {
			c.Created, c.Reason = 0, h.Reasoned("why")
		},
		"want an answer by the contract to a valid place of an order of 1 of product 1, found place at 1s, after 1s: 422 " +
			"invalid_num": func(
			_ *history.History, c *history.Call,
		) {
			*c = history.Call{Sent: c.Sent, Done: c.Done, Code: 422, Problem: history.InvalidNum}
		},
		"want 1 of product 1 at 100, found nothing: place": func(_ *history.History, c *history.Call) {
			c.Named = history.NoItems
		},
		"want the reason \"\", found the reason \"why\": place at 1s, after 1s: 503 overloaded": func(
			h *history.History, c *history.Call,
		) {
			*c = history.Call{
				Sent: c.Sent, Done: c.Done, Code: 503, Problem: history.Overloaded, Reason: h.Reasoned("why"),
			}
		},
	} {
		h := oneOrder()
		change(h, &h.Calls[0])
		v := verify.Judge(soldOnce(h), h, verify.Terms{})
		var text strings.Builder
		_ = v.Write(&text, false)
		if v.Outcome != verify.Violation || !strings.Contains(text.String(), want) {
			t.Errorf("want %q:\n%s", want, &text)
		}
	}
}

// oneOrder returns the history of one order.
func oneOrder() *history.History {
	h := &history.History{
		Run: run, Path: history.PathOrder, Started: time.UnixMicro(created), Disturbed: true,
		Goods: []history.Goods{{ID: 1, Stock: 5, Price: 100}},
	}
	h.AddOrder(items(1, 1))
	h.Calls = []history.Call{{
		Sent: time.Second, Done: 2 * time.Second, Code: http.StatusCreated, Status: history.Confirmed, Order: firstOrder,
		Total: 100, Named: history.ItemsAsSent, Created: created, Location: history.Located,
	}}
	return h
}

// soldOnce returns the books after one order, and rowsOf their rows.
func soldOnce(h *history.History) verify.Books { return rowsOf(h).Books() }

func rowsOf(h *history.History) *verify.Tables {
	id, hash, price := []byte(flag(0)), history.BodyHash(h.Items(0)), h.Goods[0].Price
	restock := []byte(h.RestockFlag(0))
	return &verify.Tables{
		Orders: []verify.OrderRow{{
			ID: firstOrder, Status: history.Confirmed, Outcome: history.Confirmed, Key: []byte(h.Key(0)), BodyHash: hash[:],
			Total: price, Created: created,
		}},
		Items:      []verify.ItemRow{{Order: firstOrder, Item: h.Items(0)[0], Price: price}},
		Operations: []verify.OperationRow{{Flag: id, State: history.Done, Items: []byte("1:1")}},
		Flows: []verify.FlowRow{
			{Flag: restock, Kind: operation.KindRestock, Goods: 1, Num: 5},
			{Flag: id, Kind: operation.KindDeduct, Goods: 1, Num: -1},
		},
		Restocks: []verify.RestockRow{{Flag: restock, Goods: 1, Name: []byte(h.GoodsName()), Price: &price}},
		Products: []verify.ProductRow{{Goods: 1, Name: []byte(h.GoodsName()), Price: price, Num: 4}},
	}
}
