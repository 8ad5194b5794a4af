package loadtest_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest"
)

func TestAGoodWorldPasses(t *testing.T) {
	t.Parallel()
	v := newWorld(t).verify(t)
	if v.Outcome != loadtest.Pass || v.Outcome.ExitCode() != 0 {
		var text bytes.Buffer
		_ = v.Write(&text)
		t.Fatalf("want a pass:\n%s", &text)
	}
	if v.Orders != 27 || v.Cancelled != 2 || v.Rejected == 0 || v.Confirmed+v.Rejected+v.Cancelled != v.Orders {
		t.Errorf("counts: %s", v)
	}
}

// corruption is one fault written into a copy of a good world.
type corruption struct {
	name string
	// finds is the invariant that must tell of it.
	finds        string
	stock, order []string
	history      func(w *world)
}

// The orders that the corruptions touch: 0 is confirmed with three goods, 2
// confirmed, 4 confirmed and cancelled, 23 rejected, 24 a tombstone, 25 never
// answered.
var corruptions = []corruption{
	{name: "a flow row twice", finds: loadtest.OneDeductRow, stock: []string{
		"ALTER TABLE stock_flow DROP PRIMARY KEY",
		"INSERT INTO stock_flow SELECT * FROM stock_flow WHERE kind = 'deduct' AND flag = '{0}' AND goods_id = 1",
	}},
	{name: "a flow row missing", finds: loadtest.DoneHasItsFlows, stock: []string{
		"DELETE FROM stock_flow WHERE flag = '{0}' AND goods_id = 3",
	}},
	{name: "all flow rows of an operation missing", finds: loadtest.DoneHasItsFlows, stock: []string{
		"DELETE FROM stock_flow WHERE flag = '{0}'",
	}},
	{name: "num of a flow row off by one", finds: loadtest.DoneHasItsFlows, stock: []string{
		"UPDATE stock_flow SET num = num - 1 WHERE flag = '{0}' AND goods_id = 1",
		"UPDATE stock SET num = num - 1 WHERE goods_id = 1",
	}},
	{name: "a flow row of other goods", finds: loadtest.FlowMatchesOrder, stock: []string{
		"UPDATE stock_flow SET goods_id = 2 WHERE flag = '{2}' AND goods_id = 3",
	}},
	{name: "a deduction that adds", finds: loadtest.FlowSigns, stock: []string{
		"UPDATE stock_flow SET num = -num WHERE flag = '{0}' AND goods_id = 3",
	}},
	{name: "stock edited", finds: loadtest.StockEqualsFlows, stock: []string{
		"UPDATE stock SET num = num + 1 WHERE goods_id = 3",
	}},
	{name: "stock deleted", finds: loadtest.StockEqualsFlows, stock: []string{
		"DELETE FROM stock WHERE goods_id = 3",
	}},
	{name: "stock below zero", finds: loadtest.StockNotNegative, stock: []string{
		"UPDATE stock SET num = -1 WHERE goods_id = 1",
	}},
	{name: "the restock row gone", finds: loadtest.NotOversold, stock: []string{
		"DELETE FROM stock_flow WHERE kind = 'restock' AND goods_id = 1",
	}},
	{name: "the restock row smaller", finds: loadtest.GoodsRestocked, stock: []string{
		"UPDATE stock_flow SET num = num - 1 WHERE kind = 'restock' AND goods_id = 3",
		"UPDATE stock SET num = num - 1 WHERE goods_id = 3",
	}},
	{name: "more deducted than there was", finds: loadtest.NotOversold, stock: []string{
		"UPDATE stock_flow SET num = num - 50 WHERE flag = '{0}' AND goods_id = 1",
		"UPDATE stock SET num = num - 50 WHERE goods_id = 1",
	}},
	{name: "an operation twice", finds: loadtest.OneOperation, stock: []string{
		"ALTER TABLE operations DROP PRIMARY KEY",
		"INSERT INTO operations SELECT * FROM operations WHERE flag = '{0}'",
	}},
	{name: "an operation gone", finds: loadtest.NoDeductUnlessDone, stock: []string{
		"DELETE FROM operations WHERE flag = '{0}'",
	}},
	{name: "a done operation called rejected", finds: loadtest.NoDeductUnlessDone, stock: []string{
		"UPDATE operations SET state = 'REJECTED' WHERE flag = '{0}'",
	}},
	{name: "a rejected operation called done", finds: loadtest.DoneHasItsFlows, stock: []string{
		"UPDATE operations SET state = 'DONE' WHERE flag = '{23}'",
	}},
	{name: "a restored operation called done", finds: loadtest.DoneHasItsFlows, stock: []string{
		"UPDATE operations SET state = 'DONE' WHERE flag = '{4}'",
	}},
	{name: "a done operation called restored", finds: loadtest.RestoredHasItsFlows, stock: []string{
		"UPDATE operations SET state = 'RESTORED' WHERE flag = '{0}'",
	}},
	{name: "items of an operation changed", finds: loadtest.DoneHasItsFlows, stock: []string{
		"UPDATE operations SET items = '1:1' WHERE flag = '{0}'",
	}},
	{name: "items of an operation garbled", finds: loadtest.DoneHasItsFlows, stock: []string{
		"UPDATE operations SET items = '1;1' WHERE flag = '{2}'",
	}},
	{name: "items of a rejected operation changed", finds: loadtest.FlowMatchesOrder, stock: []string{
		"UPDATE operations SET items = '1:1' WHERE flag = '{23}'",
	}},
	{name: "restored twice", finds: loadtest.OneRestoreRow, stock: []string{
		"ALTER TABLE stock_flow DROP PRIMARY KEY",
		"INSERT INTO stock_flow SELECT * FROM stock_flow WHERE kind = 'restore' AND goods_id = 1 AND flag = '{4}'",
	}},
	{name: "restored without a deduction", finds: loadtest.NoRestoreWithoutDeduct, stock: []string{
		"DELETE FROM stock_flow WHERE kind = 'deduct' AND flag = '{4}'",
	}},
	{name: "half restored", finds: loadtest.RestoredHasItsFlows, stock: []string{
		"DELETE FROM stock_flow WHERE kind = 'restore' AND goods_id = 3 AND flag = '{4}'",
	}},
	{name: "restored and still done", finds: loadtest.NoRestoreWithoutDeduct, stock: []string{
		"INSERT INTO stock_flow SELECT flag, goods_id, 'restore', -num, created_at FROM stock_flow WHERE kind = 'deduct' AND flag = '{0}'",
	}},
	{name: "a deduction without an order", finds: loadtest.FlowHasOrder, stock: []string{
		"INSERT INTO operations (flag, state, items, created_at) VALUES ('77', 'DONE', '3:1', NOW(6))",
		"INSERT INTO stock_flow VALUES ('77', 3, 'deduct', -1, NOW(6))",
		"UPDATE stock SET num = num - 1 WHERE goods_id = 3",
	}},

	{name: "a confirmed order called rejected", finds: loadtest.OrderMatchesOperation, order: []string{
		"UPDATE orders SET status = 'REJECTED', outcome = 'REJECTED' WHERE id = {0}",
	}},
	{name: "a rejected order called confirmed", finds: loadtest.OrderMatchesOperation, order: []string{
		"UPDATE orders SET status = 'CONFIRMED', outcome = 'CONFIRMED' WHERE id = {23}",
	}},
	{name: "a confirmed order called cancelled", finds: loadtest.OrderMatchesOperation, order: []string{
		"UPDATE orders SET status = 'CANCELLED' WHERE id = {0}",
	}},
	{name: "a cancelled order called confirmed", finds: loadtest.OrderMatchesOperation, order: []string{
		"UPDATE orders SET status = 'CONFIRMED' WHERE id = {4}",
	}},
	{name: "an order cancelled without a tombstone", finds: loadtest.OrderMatchesOperation, stock: []string{
		"DELETE FROM operations WHERE flag = '{24}'",
	}},
	{name: "a first outcome flipped", finds: loadtest.OrderOutcomeKept, order: []string{
		"UPDATE orders SET outcome = 'REJECTED' WHERE id = {0}",
	}},
	{name: "a first outcome lost", finds: loadtest.OrderOutcomeKept, order: []string{
		"UPDATE orders SET outcome = NULL WHERE id = {0}",
	}},
	{name: "an order left pending", finds: loadtest.OrderSettled, order: []string{
		"UPDATE orders SET status = 'PENDING', outcome = NULL WHERE id = {25}",
	}},
	{name: "an order left cancelling", finds: loadtest.OrderSettled, order: []string{
		"UPDATE orders SET status = 'CANCELLING' WHERE id = {4}",
	}},
	{name: "an acknowledged order deleted", finds: loadtest.AcknowledgedOrderKept, order: []string{
		"DELETE FROM orders WHERE id = {23}", "DELETE FROM order_items WHERE order_id = {23}",
	}},
	{name: "a done order deleted", finds: loadtest.FlowHasOrder, order: []string{
		"DELETE FROM orders WHERE id = {25}", "DELETE FROM order_items WHERE order_id = {25}",
	}},
	{name: "a rejected order deleted that nobody was told of", finds: loadtest.FlowHasOrder, order: []string{
		"DELETE FROM orders WHERE id = {23}", "DELETE FROM order_items WHERE order_id = {23}",
	}, history: func(w *world) {
		l := w.placed(23)
		l.Code, l.Status, l.Order, l.Total, l.Error = 0, "", "", 0, "timeout"
	}},
	{name: "an order under another key", finds: loadtest.AcknowledgedOrderKept, order: []string{
		"UPDATE orders SET idempotency_key = NULL WHERE id = {0}",
	}},
	{name: "an item changed", finds: loadtest.FlowMatchesOrder, order: []string{
		"UPDATE order_items SET num = num + 1 WHERE order_id = {0} AND goods_id = 3",
	}},
	{name: "an item changed everywhere but at the client", finds: loadtest.AcknowledgedOrderSame, order: []string{
		"UPDATE order_items SET num = num + 1 WHERE order_id = {0} AND goods_id = 3",
		"UPDATE orders SET total = total + 300 WHERE id = {0}",
	}, stock: []string{
		"UPDATE operations SET items = REPLACE(items, '3:2', '3:3') WHERE flag = '{0}'",
		"UPDATE stock_flow SET num = num - 1 WHERE flag = '{0}' AND goods_id = 3",
		"UPDATE stock SET num = num - 1 WHERE goods_id = 3",
	}},
	{name: "no items", finds: loadtest.OrderItemsValid, order: []string{
		"DELETE FROM order_items WHERE order_id = {23}",
	}},
	{name: "items without an order", finds: loadtest.OrderItemsValid, order: []string{
		"INSERT INTO order_items VALUES (5, 1, 1, 100)",
	}},
	{name: "a quantity below one", finds: loadtest.OrderItemsValid, order: []string{
		"UPDATE order_items SET num = -1 WHERE order_id = {23} AND goods_id = 1",
	}},
	{name: "a price changed", finds: loadtest.OrderPricesRight, order: []string{
		"UPDATE order_items SET price = 1 WHERE order_id = {0} AND goods_id = 3",
		"UPDATE orders SET total = total - 598 WHERE id = {0}",
	}},
	{name: "a total changed", finds: loadtest.OrderTotalRight, order: []string{
		"UPDATE orders SET total = total + 1 WHERE id = {0}",
	}},
	{name: "two orders under one key", finds: loadtest.OneOrderPerKey, order: []string{
		"ALTER TABLE orders DROP KEY uq_orders_idempotency_key",
		"INSERT INTO orders SELECT id + 1000, status, outcome, reason, idempotency_key, body_hash, total, created_at, updated_at FROM orders WHERE id = {23}",
		"INSERT INTO order_items SELECT order_id + 1000, goods_id, num, price FROM order_items WHERE order_id = {23}",
	}, stock: []string{
		"INSERT INTO operations SELECT CONCAT(flag + 1000), state, reason, items, fencing_token, created_at FROM operations WHERE flag = '{23}'",
	}},
	{
		name: "rejected while stock was there", finds: loadtest.RejectedOnlyWhenShort,
		order: []string{"UPDATE orders SET status = 'REJECTED', outcome = 'REJECTED' WHERE id = {25}"},
		stock: []string{
			"UPDATE operations SET state = 'REJECTED' WHERE flag = '{25}'",
			"DELETE FROM stock_flow WHERE flag = '{25}'",
			"UPDATE stock SET num = num + 3 WHERE goods_id = 3",
		},
	},
	{
		name: "rejected after a restore had made room", finds: loadtest.RejectedOnlyWhenShort,
		order: []string{"UPDATE orders SET status = 'REJECTED', outcome = 'REJECTED' WHERE id = {26}"},
		stock: []string{
			"UPDATE operations SET state = 'REJECTED' WHERE flag = '{26}'",
			"DELETE FROM stock_flow WHERE flag = '{26}'",
			"UPDATE stock SET num = num + 1 WHERE goods_id = 1",
		}, history: func(w *world) { l := w.placed(26); l.Code, l.Status = 409, "REJECTED" },
	},

	{name: "an answer flipped to rejected", finds: loadtest.AcknowledgedEndKept, history: func(w *world) {
		l := w.placed(0)
		l.Code, l.Status = 409, "REJECTED"
	}},
	{name: "an answer flipped to confirmed", finds: loadtest.AcknowledgedEndKept, history: func(w *world) {
		l := w.placed(23)
		l.Code, l.Status = 201, "CONFIRMED"
	}},
	{name: "confirmed, and cancelled though nobody asked", finds: loadtest.AcknowledgedEndKept, history: func(w *world) {
		w.lines = slices.DeleteFunc(w.lines, func(l *line) bool { return l.Kind == "cancel" })
	}},
	{name: "a repeat told another end", finds: loadtest.OneEndTold, history: func(w *world) {
		l := w.call(5, "again", w.placed(5).Body.Items, "REJECTED")
		l.Replayed = true
	}},
	{name: "a repeat told cancelled where the first was told confirmed", finds: loadtest.OneEndTold, history: func(w *world) {
		w.call(4, "again", w.placed(4).Body.Items, "CANCELLED")
	}},
	{name: "two orders told for one key", finds: loadtest.OneOrderTold, history: func(w *world) {
		w.call(5, "again", w.placed(5).Body.Items, w.placed(5).Status).Order = flag(6)
	}},
	{name: "an order told that is not there", finds: loadtest.AcknowledgedOrderKept, history: func(w *world) {
		w.placed(25).Order, w.placed(25).Total = flag(999), 900
	}},
	{name: "a wrong total told", finds: loadtest.ToldTotalRight, history: func(w *world) { w.placed(0).Total++ }},
	{name: "a valid order refused", finds: loadtest.AnswerWellFormed, history: func(w *world) {
		l := w.placed(25)
		l.Code, l.Error = 422, ""
	}},
	{name: "an answer that cannot be read", finds: loadtest.AnswerWellFormed, history: func(w *world) {
		l := w.placed(25)
		l.Code, l.Error = 201, "unreadable"
	}},
	{name: "a code that does not fit the status", finds: loadtest.AnswerWellFormed, history: func(w *world) { w.placed(0).Code = 409 }},
	{name: "more acknowledged than there was", finds: loadtest.AcknowledgedNotOversold, history: func(w *world) {
		for n := range 24 {
			l := w.placed(n)
			l.Code, l.Status = 201, "CONFIRMED"
		}
	}},
}

func TestEachCorruptionIsFound(t *testing.T) {
	t.Parallel()
	good := newWorld(t)
	covered := map[string]bool{}
	for _, c := range corruptions {
		covered[c.finds] = true
	}
	t.Run("each invariant has one", func(t *testing.T) {
		for _, name := range loadtest.Invariants() {
			if !covered[name] {
				t.Errorf("no corruption shows that %s is checked", name)
			}
		}
	})
	copied := good.copyOf(t)
	for _, c := range corruptions {
		t.Run(c.name, func(t *testing.T) {
			w := copied
			if strings.Contains(strings.Join(append(slices.Clone(c.stock), c.order...), " "), "ALTER TABLE") {
				w = good.copyOf(t) // a table that is altered cannot be used again
			} else {
				w.restore(t, good)
			}
			if c.history != nil {
				c.history(w)
			}
			for _, s := range c.stock {
				exec(t, w.stock, name(s))
			}
			for _, s := range c.order {
				exec(t, w.order, name(s))
			}
			v := w.verify(t)
			if v.Outcome != loadtest.Violation || v.Outcome.ExitCode() != 1 {
				t.Errorf("outcome %s, exit code %d; want a violation", v.Outcome, v.Outcome.ExitCode())
			}
			if !slices.Contains(v.Violated(), c.finds) {
				t.Errorf("found %v, want %s", v.Violated(), c.finds)
			}
			for _, i := range v.Invariants {
				if i.Violations > 0 && len(i.Sample) == 0 {
					t.Errorf("%s: no sample", i.Name)
				}
			}
		})
	}
}

// name puts order ids where {n} is.
func name(statement string) string {
	for _, n := range []int{0, 2, 4, 23, 24, 25, 26} {
		statement = strings.ReplaceAll(statement, fmt.Sprintf("{%d}", n), flag(n))
	}
	return statement
}

func TestFiguresOfTheVerdict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	exec(t, w.stock, "ALTER TABLE stock_flow DROP PRIMARY KEY")
	exec(t, w.stock, "INSERT INTO stock_flow SELECT * FROM stock_flow WHERE flag = '"+flag(0)+"' AND kind = 'deduct'")
	exec(t, w.stock, "UPDATE stock_flow SET num = num - 50 WHERE goods_id = 2 AND kind = 'deduct' AND flag = '"+flag(3)+"'")
	v := w.verify(t)
	if v.DoubleDeducted != 3 {
		t.Errorf("%d deducted twice, want the 3 items of one order", v.DoubleDeducted)
	}
	if v.Oversold < 40 {
		t.Errorf("%d oversold, want the 50 pieces less what was left", v.Oversold)
	}
}

func TestWhatCannotBeReadIsUnknown(t *testing.T) {
	t.Parallel()
	good := newWorld(t)
	verify := func(change func(*loadtest.VerifyConfig)) *loadtest.Verdict {
		t.Helper()
		h, err := loadtest.ReadHistory(bytes.NewReader(good.history(t)))
		if err != nil {
			t.Fatal(err)
		}
		cfg := loadtest.VerifyConfig{OrderDSN: good.orderDSN, StockDSN: good.stockDSN, History: h, Settle: time.Millisecond}
		change(&cfg)
		v, err := loadtest.Verify(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	idle := func() *loadtest.History {
		w := &world{goods: good.goods, clock: good.clock}
		w.call(0, "place", good.placed(0).Body.Items, "").Error = "refused"
		w.lines[0].Order, w.lines[0].Total = "", 0
		h, err := loadtest.ReadHistory(bytes.NewReader(w.history(t)))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	for name, change := range map[string]func(*loadtest.VerifyConfig){
		"no history":              func(c *loadtest.VerifyConfig) { c.History, c.HistoryPath = nil, "/nowhere/history.jsonl" },
		"no traffic":              func(c *loadtest.VerifyConfig) { c.History = idle() },
		"no stock database":       func(c *loadtest.VerifyConfig) { c.StockDSN = strings.Replace(c.StockDSN, good.stockName, "nowhere", 1) },
		"a server that is down":   func(c *loadtest.VerifyConfig) { c.OrderDSN = "verifier:x@tcp(127.0.0.1:1)/order_db" },
		"the wrong database":      func(c *loadtest.VerifyConfig) { c.StockDSN = c.OrderDSN },
		"databases the wrong way": func(c *loadtest.VerifyConfig) { c.StockDSN, c.OrderDSN = c.OrderDSN, c.StockDSN },
	} {
		v := verify(change)
		if v.Outcome != loadtest.Unknown || v.Outcome.ExitCode() != 2 || len(v.Reasons) == 0 {
			t.Errorf("%s: %s, exit code %d, reasons %q; want unknown", name, v.Outcome, v.Outcome.ExitCode(), v.Reasons)
		}
	}
	exec(t, good.stock, "UPDATE stock SET num = -1 WHERE goods_id = 1")
	if v := verify(func(c *loadtest.VerifyConfig) { c.History, c.HistoryPath = nil, "/nowhere" }); v.Outcome != loadtest.Violation {
		t.Errorf("a violation beside what cannot be read: %s", v.Outcome)
	}
}

func TestACutHistoryIsUnusable(t *testing.T) {
	t.Parallel()
	whole := newHistoryText()
	for name, text := range map[string]string{
		"empty":            "",
		"no last line":     strings.Join(whole[:len(whole)-1], "\n"),
		"a line missing":   strings.Join(append(slices.Clone(whole[:2]), whole[3:]...), "\n"),
		"a line cut":       strings.Join(append(append(slices.Clone(whole[:2]), whole[2][:20]), whole[3:]...), "\n"),
		"an unknown kind":  strings.Replace(strings.Join(whole, "\n"), `"again"`, `"anew"`, 1),
		"no order of that": strings.Replace(strings.Join(whole, "\n"), `"op":1`, `"op":7`, 1),
	} {
		if _, err := loadtest.ReadHistory(strings.NewReader(text)); !errors.Is(err, loadtest.ErrHistory) {
			t.Errorf("%s: %v, want ErrHistory", name, err)
		}
	}
}

func newHistoryText() []string {
	return []string{
		`{"run":"r","path":"order","started":"2026-01-02T03:04:05Z","elapsed_us":3000,"warmup_us":0,"window_us":3000,"timeout_us":1000000,"seed":7,"goods":[{"id":"11","stock":5,"price":100}]}`,
		`{"op":0,"kind":"place","key":"r-0","body":{"items":[{"goods_id":"11","num":2}]},"intended_us":1,"sent_us":2,"done_us":3,"code":201,"status":"CONFIRMED","order":"99","total":200}`,
		`{"op":1,"kind":"place","key":"r-1","body":{"items":[{"goods_id":"11","num":1}]},"intended_us":4,"sent_us":5,"done_us":6,"error":"timeout"}`,
		`{"op":0,"kind":"again","key":"r-0","body":{"items":[{"goods_id":"11","num":2}]},"intended_us":7,"sent_us":8,"done_us":9,"code":201,"status":"CONFIRMED","order":"99","total":200,"replayed":true}`,
		`{"op":0,"kind":"cancel","key":"r-0","intended_us":10,"sent_us":11,"done_us":12,"code":200,"status":"CANCELLED","order":"99","total":200}`,
		`{"orders":2,"calls":4}`,
	}
}

func TestHistoryIsWrittenAsItIsRead(t *testing.T) {
	t.Parallel()
	text := strings.Join(newHistoryText(), "\n") + "\n"
	h, err := loadtest.ReadHistory(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := h.Write(&again); err != nil {
		t.Fatal(err)
	}
	if again.String() != text {
		t.Errorf("written\n%s\nread\n%s", &again, text)
	}
}
