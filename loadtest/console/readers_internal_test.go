package console

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

func testConsole(t *testing.T) *Console {
	t.Helper()
	c, err := newConsole(systemtest.Idle(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.tracer.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return c
}

// shows fails the test unless the state holds each of the texts.
func (c *Console) shows(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if state := string(c.feed.snapshot()); !strings.Contains(state, text) {
			t.Errorf("the state does not hold %s: %s", text, state)
		}
	}
}

// TestVerdictOutlivesAReadInFlight: books read before the verdict do not change the headline back, and books of a run
// are not shown in the next.
func TestVerdictOutlivesAReadInFlight(t *testing.T) {
	c := testConsole(t)
	begin := func() *tables.Meter {
		m := tables.NewMeter()
		c.player.Restart(m)
		c.beginTry(tables.Run{})
		return m
	}
	m := begin()
	books := tables.Books{Rows: []tables.BookRow{{Name: "product 1"}}, Sold: 3, Stock: 5}
	c.showBooks(m, false, books)
	c.shows(t, `"word":"RUNNING"`, `"sentence":"sold 3 of 5"`)
	wrong := books
	wrong.Wrong = "product 1: two are lost"
	c.showBooks(m, false, wrong)
	c.shows(t, `"word":"WRONG SO FAR"`) // only the judge says more
	end := tables.Run{Verdict: verify.Pass, Sentence: "sold 5 of 5"}
	m.Enter(trial.Idle)
	c.show("record", &tables.Record{Run: end, Books: books})
	c.showBooks(m, false, tables.Books{Rows: books.Rows, Sold: 2})
	c.shows(t, `"word":"PASS"`, `"sentence":"sold 5 of 5"`, `"products":0,"sold":3`)
	books.Sold = 5
	c.showBooks(m, true, books) // read after the verdict
	c.shows(t, `"word":"PASS"`, `"products":0,"sold":5`)
	next := begin()
	c.showBooks(m, true, tables.Books{Rows: books.Rows, Sold: 7})
	c.shows(t, `"hero":null`, `"products":0,"sold":0`)
	next.Enter(trial.Idle)
	c.show("hero", tables.Headline{Word: "NOT JUDGED"}) // it failed
	c.showBooks(next, false, books)
	c.shows(t, `"word":"NOT JUDGED"`)
}

// TestVerdictComesWithItsOrders: it comes with the orders' final states, not with an earlier read's.
func TestVerdictComesWithItsOrders(t *testing.T) {
	c, s := testConsole(t), &view{orders: ordersDB(t)}
	c.view = s
	insertOrders(t, s.orders, "PENDING", orderID(0, 1))
	if _, err := c.showStatuses(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	c.shows(t, `"PENDING":1`)
	execOn(t, s.orders, "UPDATE orders SET status = 'CONFIRMED'")
	insertOrders(t, s.orders, "CONFIRMED", orderID(time.Minute, 1)) // written long after its id was made
	c.show("record", &tables.Record{Run: tables.Run{Verdict: verify.Pass}})
	c.shows(t, `"PENDING":0`, `"CONFIRMED":2`, `"word":"PASS"`)
}

// TestTracedOrdersHaveTheirPresentStatus, and not the one in their first answer. One of a run before is left out.
func TestTracedOrdersHaveTheirPresentStatus(t *testing.T) {
	c, s := testConsole(t), &view{orders: ordersDB(t), stock: database(t, "stock")}
	order := orderID(0, 1)
	insertOrders(t, s.orders, "CONFIRMED", order)
	execOn(t, s.stock, "INSERT INTO operations (flag, state, reason, items, created_at) "+
		"VALUES ('direct-1', 'REJECTED', '', '', NOW(6))")
	placed := []string{strconv.FormatInt(order, 10), "direct-1", "away"}
	for i, id := range placed {
		c.traces.Add([]*wire.ResourceSpans{{ScopeSpans: []*wire.ScopeSpans{{Spans: []*wire.Span{{
			TraceId: bytes.Repeat([]byte{byte(i + 1)}, 16), SpanId: []byte("12345678"), Name: "place",
			Attributes: []*common.KeyValue{spanText("order_id", id), spanText("status", "PENDING")},
		}}}}}})
	}
	if err := c.readTraces(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	c.shows(t, `"recent":[{"order_id":"direct-1","status":"REJECTED"},`+
		`{"order_id":"`+placed[0]+`","status":"CONFIRMED"}]`)
}

func spanText(key, value string) *common.KeyValue {
	return &common.KeyValue{
		Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}},
	}
}

// TestOrdersOfTheRunBeforeAreGone: services start on empty databases, which may be read some seconds later.
func TestOrdersOfTheRunBeforeAreGone(t *testing.T) {
	c := testConsole(t)
	c.feed.set("statuses", map[string]int64{"CONFIRMED": 149})
	c.showStarted(stateStarting)
	c.shows(t, `"statuses":{}`)
}

// TestBooksSayWhyOutAndSoldDiffer, and count what the run promises.
func TestBooksSayWhyOutAndSoldDiffer(t *testing.T) {
	stock := database(t, "stock")
	execOn(t, stock, "INSERT INTO stock (goods_id, num, updated_at) VALUES (1, 290, NOW(6))")
	execOn(t, stock, "INSERT INTO stock_flow (flag, goods_id, kind, num, created_at) VALUES "+
		"('r', 1, 'restock', 299, NOW(6)), ('a', 1, 'deduct', -9, NOW(6))")
	for sold, want := range map[int64]string{9: "", 5: "Out is 4 more than Sold", 12: "Sold is 3 more than Out"} {
		sale := tables.Sale{Goods: []int64{1}, Promised: 300, Acknowledged: map[int64]int64{1: sold}}
		books, err := tables.ReadBooks(t.Context(), stock, sale)
		if err != nil {
			t.Fatal(err)
		}
		if books.Stock != 300 || !strings.HasPrefix(books.Unequal, want) || (want == "") != (books.Unequal == "") {
			t.Errorf("%d sold: the books say %q and %d in all; want %q and 300", sold, books.Unequal, books.Stock, want)
		}
		if head := (&tables.Record{Books: books}).Sheet().Parts; head[0].Says != books.Unequal {
			t.Errorf("the report says %q, the page %q", head[0].Says, books.Unequal)
		}
	}
}

// TestBooksOfAnotherRunNameTheirScope: the newest products alone are read, and the page says so.
func TestBooksOfAnotherRunNameTheirScope(t *testing.T) {
	c, s := testConsole(t), &view{stock: database(t, "stock")}
	c.player.Restart(tables.Watch(time.Now()))
	add := func(from, to int) {
		t.Helper()
		for id := from; id <= to; id++ {
			execOn(t, s.stock, "INSERT INTO stock (goods_id, updated_at) VALUES (?, NOW(6))", id)
		}
	}
	add(1, newest)
	if err := c.readBooks(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	c.shows(t, `"scope":""`, `"sentence":"sold 0 of 0"`)
	add(newest+1, newest+3)
	if err := c.readBooks(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	c.shows(t, `"scope":"the newest 10 of 13 products"`, `"sentence":"sold 0 of 0 of the newest 10 of 13 products"`)
}

// TestOrderByHandIsNobodyElses: it does not count as another process's run, which would erase the verdict.
func TestOrderByHandIsNobodyElses(t *testing.T) {
	c, s := testConsole(t), &view{orders: ordersDB(t)}
	look := c.flowReader()
	read := func(other bool) {
		t.Helper()
		s.tally.forget() // count again
		if err := look(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if seen := c.player.Meter().Phase() == tables.Watching; seen != other {
			t.Errorf("another process's run is seen: %t, want %t", seen, other)
		}
	}
	insertOrders(t, s.orders, "CONFIRMED", orderID(time.Hour, 1))
	read(false)
	placed := &Placed{}
	done := c.byHand.place(placed, "")
	insertOrders(t, s.orders, "CONFIRMED", orderID(0, 1))
	read(false) // it is not answered yet
	placed.OrderID = "1"
	done()
	read(false)
	done = c.byHand.place(&Placed{OrderID: "2"}, "")
	done()
	read(false) // it is answered, and the counts are older
	insertOrders(t, s.orders, "CONFIRMED", orderID(0, 2))
	read(false)
	insertOrders(t, s.orders, "CONFIRMED", orderID(0, 3))
	read(true)
}

func TestWhereTheLockIs(t *testing.T) {
	for _, test := range []struct {
		view  *view
		goods string
		want  string
	}{
		{&view{}, "700", "/r/stock/partition-"},
		{&view{Target: Target{Partitions: 1}}, "700", "/r/stock/partition-00"},
		{&view{Target: Target{Target: fire.Target{Strategy: "sequential"}}}, "700", "/r/stock/700"},
		{&view{Target: Target{Target: fire.Target{Strategy: "sequential"}}}, "", ""},
		{&view{Target: Target{Target: fire.Target{Strategy: "sequential"}}, oneLock: true}, "700", "/r/stock/0"},
		{&view{Target: Target{Target: fire.Target{Strategy: "single-node"}}}, "700", ""},
		{&view{Target: Target{Target: fire.Target{Strategy: "optimistic"}}}, "700", ""},
	} {
		test.view.ZooKeeperRoot = "/r"
		path, says := test.view.lockPath(test.goods)
		if !strings.HasPrefix(path, test.want) || (path == "") != (test.want == "") || (says == "") != (path != "") {
			t.Errorf("%+v: %q, %q; want %q", test.view.Target, path, says, test.want)
		}
	}
}

// TestSamplesAreBounded: a console may watch for days, and each page gets all that is kept.
func TestSamplesAreBounded(t *testing.T) {
	f := newFeed()
	for i := range mostSamples + 5 {
		f.set("sample", tables.Sample{TMS: tables.Millis(i)})
	}
	if len(f.samples) != mostSamples || f.samples[0].TMS != 5 {
		t.Errorf("%d samples, the first of %d ms", len(f.samples), f.samples[0].TMS)
	}
}
