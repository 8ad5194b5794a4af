package verify_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
	"orderstock/pkg/operation"
)

// foreign is an order by others: of one piece, on the given products, each step in its own transaction as the services
// do it.
func (w *world) foreign(t *testing.T, id, product int64, key any, level int64) {
	t.Helper()
	flag := fmt.Sprint(id)
	hash := history.BodyHash(items(product, 1))
	both := func(statements ...string) {
		t.Helper()
		tx, err := w.stock.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range statements {
			if _, err := tx.ExecContext(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	exec(t, w.order, "INSERT INTO orders (id, status, idempotency_key, body_hash, total, created_at, updated_at) "+
		"VALUES (?, 'PENDING', ?, ?, 100, NOW(6), NOW(6))", id, key, hash[:])
	exec(t, w.order, "INSERT INTO order_items VALUES (?, ?, 1, 100)", id, product)
	both("INSERT INTO operations (flag, state, items, created_at) VALUES ('"+flag+"', 'DONE', '"+
		fmt.Sprintf("%d:1", product)+"', NOW(6))",
		"INSERT INTO stock_flow VALUES ('"+flag+"', "+fmt.Sprint(product)+", 'deduct', -1, NOW(6))",
		fmt.Sprintf("UPDATE stock SET num = %d WHERE goods_id = %d", level, product))
	exec(t, w.order, "UPDATE orders SET status = 'CONFIRMED', outcome = 'CONFIRMED' WHERE id = ?", id)
}

// Others order their own products all the time, and one of their orders is never settled.
func TestOthersMayGoOnOrdering(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const product, stock = 99, 1_000_000
	exec(t, w.stock, "INSERT INTO stock (goods_id, name, price, num, updated_at) VALUES (99, 'theirs', 100, ?, NOW(6))",
		stock)
	exec(t, w.stock, "INSERT INTO stock_flow VALUES ('restock-theirs', 99, 'restock', ?, NOW(6))", stock)
	exec(t, w.order, "INSERT INTO orders (id, status, idempotency_key, body_hash, total, created_at, updated_at) "+
		"VALUES (5, 'PENDING', 'theirs', REPEAT('x', 32), 100, NOW(6), NOW(6))")
	exec(t, w.order, "INSERT INTO order_items VALUES (5, 99, 1, 100)")
	stop := make(chan struct{})
	var ordering sync.WaitGroup
	ordering.Go(func() {
		for n := int64(1); ; n++ {
			select {
			case <-stop:
				return
			default:
				w.foreign(t, orderID(5000)+n, product, fmt.Sprint("theirs-", n), stock-n)
			}
		}
	})
	defer ordering.Wait()
	defer close(stop)
	for range 20 {
		began := time.Now()
		v, err := verify.Run(t.Context(), verify.Config{
			Databases: verify.Databases{OrderDSN: w.orderDSN, StockDSN: w.stockDSN}, History: w.h, Settle: time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		if v.Outcome != verify.Pass {
			var text strings.Builder
			_ = v.Write(&text, false)
			t.Fatalf("after %s:\n%s", time.Since(began), &text)
		}
	}
}

func TestOthersWhoBuyTheRunsProductsLeaveItUnknown(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]any{"with a key": "theirs-1", "without a key": nil} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.foreign(t, orderID(5000), 3, key, w.level[3]-1)
			v := w.verify(t)
			if v.Outcome != verify.Unknown || len(v.Reasons) != 1 || !strings.Contains(v.Reasons[0], "others ordered") {
				t.Errorf("%s, violated %v, reasons %q; want unknown, since others ordered", v.Outcome, v.Violated(), v.Reasons)
			}
		})
	}
}

// As many orders without a key as the run has calls, with the same items, are no others' orders.
func TestSecondOrdersOfAServiceAreFound(t *testing.T) {
	t.Parallel()
	w := newStock(t)
	for range 20 {
		w.buy(t, items(3, 1))
	}
	for n := range int64(19) {
		w.foreign(t, orderID(5000)+n, 3, nil, w.level[3]-1-n)
	}
	if v := w.verify(t); v.Outcome != verify.Violation || v.DoubleDeducted != 19 {
		t.Errorf("%s, violated %v, %d deducted twice; want a violation and 19", v.Outcome, v.Violated(), v.DoubleDeducted)
	}
	w.foreign(t, orderID(6000), 2, nil, w.level[2]-1) // the run ordered no such thing: others do
	if v := w.verify(t); v.Outcome != verify.Unknown {
		t.Errorf("%s, violated %v; want unknown", v.Outcome, v.Violated())
	}
}

// A deduction that was refused may still be cancelled, which leaves a tombstone.
func TestARefusedDeductionMayBeCancelled(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]history.Call{
		"refused": {Failure: history.Refused},
		"503":     {Code: http.StatusServiceUnavailable, Problem: history.Overloaded},
		"locked":  {Code: http.StatusServiceUnavailable, Problem: history.Locked},
		"502":     {Code: http.StatusBadGateway, Problem: history.UnknownOutcome}, // of the front in compose
	} {
		h := &history.History{
			Run: run, Path: history.PathDeduct, Disturbed: true, Goods: []history.Goods{{ID: 1, Stock: 5, Price: 100}},
		}
		h.AddOrder(items(1, 1))
		h.AddOrder(items(1, 1))
		first.Sent, first.Done = 1, 2
		h.Calls = []history.Call{
			first,
			{
				Kind: history.Cancel, Sent: 3, Done: 4, Code: http.StatusOK, Status: history.Cancelled,
				Named: history.NoItems,
			},
			{Op: 1, Sent: 5, Done: 6, Code: http.StatusOK, Status: history.Done, Named: history.ItemsAsSent},
		}
		price := int64(100)
		books := &verify.Tables{
			Operations: []verify.OperationRow{
				{Flag: []byte(h.Key(0)), State: history.Cancelled},
				{Flag: []byte(h.Key(1)), State: history.Done, Items: []byte("1:1")},
			},
			Flows: []verify.FlowRow{
				{Flag: []byte(h.RestockFlag(0)), Kind: operation.KindRestock, Goods: 1, Num: 5},
				{Flag: []byte(h.Key(1)), Kind: operation.KindDeduct, Goods: 1, Num: -1},
			},
			Restocks: []verify.RestockRow{
				{Flag: []byte(h.RestockFlag(0)), Goods: 1, Name: []byte(h.GoodsName()), Price: &price},
			},
			Products: []verify.ProductRow{{Goods: 1, Name: []byte(h.GoodsName()), Price: 100, Num: 4}},
		}
		if v := verify.Judge(books.Books(), h, verify.Terms{}); v.Outcome != verify.Pass {
			var text strings.Builder
			_ = v.Write(&text, false)
			t.Errorf("%s:\n%s", name, &text)
		}
		h.Calls = h.Calls[:1:1] // nobody cancelled
		h.Calls = append(h.Calls, history.Call{Op: 1, Sent: 5, Done: 6, Code: 200, Status: history.Done, Named: 1})
		if v := verify.Judge(books.Books(), h, verify.Terms{}); v.Outcome != verify.Violation {
			t.Errorf("%s: a tombstone without a cancellation: %s", name, v.Outcome)
		}
	}
}

// Tables of several pages are read whole, in order, each row once.
func TestTablesAreReadPageByPage(t *testing.T) {
	t.Parallel()
	w := newDatabases(t)
	const one, several = 11_000, 12_000
	rows := func(n int, values func(i int) string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = "(" + values(i) + ")"
		}
		return strings.Join(parts, ",")
	}
	exec(t, w.stock, "INSERT INTO stock_flow VALUES "+rows(one, func(i int) string {
		return fmt.Sprintf("'same', %d, 'restock', 1, NOW(6)", i+1)
	}))
	exec(t, w.stock, "INSERT INTO stock_flow VALUES "+rows(several, func(i int) string {
		return fmt.Sprintf("'%d', %d, 'restock', 1, NOW(6)", i/3, i%3)
	}))
	// Ids of several lengths are sorted as text.
	exec(t, w.order, "INSERT INTO orders (id, status, body_hash, total, created_at, updated_at) VALUES "+
		rows(several, func(i int) string { return fmt.Sprintf("%d, 'PENDING', 'x', 1, NOW(6), NOW(6)", i+1) }))
	books, err := verify.Read(t.Context(), verify.Databases{OrderDSN: w.orderDSN, StockDSN: w.stockDSN})
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		flag  string
		goods int64
	}
	flows := map[place]bool{}
	for _, f := range books.Flows {
		flows[place{string(f.Flag), f.Goods}] = true
	}
	if len(books.Flows) != one+several || len(flows) != one+several {
		t.Errorf("%d flow rows, %d different; want %d", len(books.Flows), len(flows), one+several)
	}
	orders := map[int64]bool{}
	for _, o := range books.Orders {
		orders[o.ID] = true
	}
	if len(books.Orders) != several || len(orders) != several {
		t.Errorf("%d orders, %d different; want %d", len(books.Orders), len(orders), several)
	}
}
