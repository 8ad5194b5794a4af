package verify_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

func TestAGoodWorldPasses(t *testing.T) {
	t.Parallel()
	v := newWorld(t).verify(t)
	if v.Outcome != verify.Pass || v.Outcome.ExitCode() != 0 {
		var text bytes.Buffer
		_ = v.Write(&text, true)
		t.Fatalf("want a pass:\n%s", &text)
	}
	if v.Orders != 27 || v.Cancelled != 2 || v.Rejected == 0 || v.Confirmed+v.Rejected+v.Cancelled != v.Orders {
		t.Errorf("counts: %s", v)
	}
}

// corruption is one fault written into a copy of a good world.
type corruption struct {
	name string
	// finds is the invariant that must find it.
	finds        string
	stock, order []string
	history      func(w *world)
}

// The orders that the corruptions touch: 0 is confirmed with three products, 2
// confirmed, 4 confirmed and cancelled, 23 rejected, 24 a tombstone, 25 never
// answered.
var corruptions = []corruption{
	{name: "a flow row twice", finds: verify.DeductedOnce, stock: []string{
		"ALTER TABLE stock_flow DROP PRIMARY KEY",
		"INSERT INTO stock_flow SELECT * FROM stock_flow WHERE kind = 'deduct' AND flag = '{0}' AND goods_id = 1",
	}},
	{name: "a flow row missing", finds: verify.OperationComplete, stock: []string{
		"DELETE FROM stock_flow WHERE flag = '{0}' AND goods_id = 3",
	}},
	{name: "all flow rows of an operation missing", finds: verify.OperationComplete, stock: []string{
		"DELETE FROM stock_flow WHERE flag = '{0}'",
	}},
	{name: "num of a flow row off by one", finds: verify.OperationComplete, stock: []string{
		"UPDATE stock_flow SET num = num - 1 WHERE flag = '{0}' AND goods_id = 1",
		"UPDATE stock SET num = num - 1 WHERE goods_id = 1",
	}},
	{name: "a flow row of another product", finds: verify.OperationComplete, stock: []string{
		"UPDATE stock_flow SET goods_id = 2 WHERE flag = '{2}' AND goods_id = 3",
	}},
	{name: "a deduction that adds", finds: verify.OperationComplete, stock: []string{
		"UPDATE stock_flow SET num = -num WHERE flag = '{0}' AND goods_id = 3",
	}},
	{name: "stock edited", finds: verify.StockBalances, stock: []string{
		"UPDATE stock SET num = num + 1 WHERE goods_id = 3",
	}},
	{name: "stock deleted", finds: verify.StockBalances, stock: []string{
		"DELETE FROM stock WHERE goods_id = 3",
	}},
	{name: "stock below zero", finds: verify.StockBalances, stock: []string{
		"UPDATE stock SET num = -1 WHERE goods_id = 1",
	}},
	{name: "the restock row gone", finds: verify.NotOversold, stock: []string{
		"DELETE FROM stock_flow WHERE kind = 'restock' AND goods_id = 1",
	}},
	{name: "the restock row smaller", finds: verify.Unexplained, stock: []string{
		"UPDATE stock_flow SET num = num - 1 WHERE kind = 'restock' AND goods_id = 3",
		"UPDATE stock SET num = num - 1 WHERE goods_id = 3",
	}},
	{name: "more deducted than there was", finds: verify.NotOversold, stock: []string{
		"UPDATE stock_flow SET num = num - 50 WHERE flag = '{0}' AND goods_id = 1",
		"UPDATE stock SET num = num - 50 WHERE goods_id = 1",
	}},
	{name: "an operation twice", finds: verify.DeductedOnce, stock: []string{
		"ALTER TABLE operations DROP PRIMARY KEY",
		"INSERT INTO operations SELECT * FROM operations WHERE flag = '{0}'",
	}},
	{name: "an operation gone", finds: verify.OperationComplete, stock: []string{
		"DELETE FROM operations WHERE flag = '{0}'",
	}},
	{name: "a done operation called rejected", finds: verify.OperationComplete, stock: []string{
		"UPDATE operations SET state = 'REJECTED' WHERE flag = '{0}'",
	}},
	{name: "a rejected operation called done", finds: verify.OperationComplete, stock: []string{
		"UPDATE operations SET state = 'DONE' WHERE flag = '{23}'",
	}},
	{name: "a restored operation called done", finds: verify.OperationComplete, stock: []string{
		"UPDATE operations SET state = 'DONE' WHERE flag = '{4}'",
	}},
	{name: "a done operation called restored", finds: verify.OperationComplete, stock: []string{
		"UPDATE operations SET state = 'RESTORED' WHERE flag = '{0}'",
	}},
	{name: "items of an operation changed", finds: verify.OperationComplete, stock: []string{
		"UPDATE operations SET items = '1:1' WHERE flag = '{0}'",
	}},
	{name: "items of an operation garbled", finds: verify.OperationComplete, stock: []string{
		"UPDATE operations SET items = '1;1' WHERE flag = '{2}'",
	}},
	{name: "items of a rejected operation changed", finds: verify.OrderMatchesOperation, stock: []string{
		"UPDATE operations SET items = '1:1' WHERE flag = '{23}'",
	}},
	{name: "restored twice", finds: verify.DeductedOnce, stock: []string{
		"ALTER TABLE stock_flow DROP PRIMARY KEY",
		"INSERT INTO stock_flow SELECT * FROM stock_flow WHERE kind = 'restore' AND goods_id = 1 AND flag = '{4}'",
	}},
	{name: "restored without a deduction", finds: verify.OperationComplete, stock: []string{
		"DELETE FROM stock_flow WHERE kind = 'deduct' AND flag = '{4}'",
	}},
	{name: "half restored", finds: verify.OperationComplete, stock: []string{
		"DELETE FROM stock_flow WHERE kind = 'restore' AND goods_id = 3 AND flag = '{4}'",
	}},
	{name: "restored and still done", finds: verify.OperationComplete, stock: []string{
		"INSERT INTO stock_flow SELECT flag, goods_id, 'restore', -num, created_at FROM stock_flow " +
			"WHERE kind = 'deduct' AND flag = '{0}'",
	}},
	{name: "a deduction without an order", finds: verify.OrderMatchesOperation, stock: []string{
		"INSERT INTO operations (flag, state, items, created_at) VALUES ('77', 'DONE', '3:1', NOW(6))",
		"INSERT INTO stock_flow VALUES ('77', 3, 'deduct', -1, NOW(6))",
		"UPDATE stock SET num = num - 1 WHERE goods_id = 3",
	}},
	{name: "a flow row without an operation", finds: verify.OrderMatchesOperation, stock: []string{
		"INSERT INTO stock_flow SELECT 'stray', goods_id, kind, num, created_at FROM stock_flow " +
			"WHERE flag = '{0}' AND goods_id = 3",
		"UPDATE stock SET num = num - 2 WHERE goods_id = 3",
	}},

	{name: "a confirmed order called rejected", finds: verify.OrderMatchesOperation, order: []string{
		"UPDATE orders SET status = 'REJECTED', outcome = 'REJECTED' WHERE id = {0}",
	}},
	{name: "a rejected order called confirmed", finds: verify.OrderMatchesOperation, order: []string{
		"UPDATE orders SET status = 'CONFIRMED', outcome = 'CONFIRMED' WHERE id = {23}",
	}},
	{name: "a confirmed order called cancelled", finds: verify.OrderMatchesOperation, order: []string{
		"UPDATE orders SET status = 'CANCELLED' WHERE id = {0}",
	}},
	{name: "a cancelled order called confirmed", finds: verify.OrderMatchesOperation, order: []string{
		"UPDATE orders SET status = 'CONFIRMED' WHERE id = {4}",
	}},
	{name: "an order cancelled without a tombstone", finds: verify.OrderMatchesOperation, stock: []string{
		"DELETE FROM operations WHERE flag = '{24}'",
	}},
	{name: "a first outcome flipped", finds: verify.OrderMatchesOperation, order: []string{
		"UPDATE orders SET outcome = 'REJECTED' WHERE id = {0}",
	}},
	{name: "a first outcome lost", finds: verify.OrderMatchesOperation, order: []string{
		"UPDATE orders SET outcome = NULL WHERE id = {0}",
	}},
	{name: "an order left pending", finds: verify.Settled, order: []string{
		"UPDATE orders SET status = 'PENDING', outcome = NULL WHERE id = {25}",
	}},
	{name: "an order left cancelling", finds: verify.Settled, order: []string{
		"UPDATE orders SET status = 'CANCELLING' WHERE id = {4}",
	}},
	{name: "an acknowledged order deleted", finds: verify.AnswersTrue, order: []string{
		"DELETE FROM orders WHERE id = {23}", "DELETE FROM order_items WHERE order_id = {23}",
	}},
	{name: "a done order deleted", finds: verify.OrderMatchesOperation, order: []string{
		"DELETE FROM orders WHERE id = {25}", "DELETE FROM order_items WHERE order_id = {25}",
	}},
	{name: "a rejected order deleted that nobody was told of", finds: verify.OrderMatchesOperation, order: []string{
		"DELETE FROM orders WHERE id = {23}", "DELETE FROM order_items WHERE order_id = {23}",
	}, history: func(w *world) {
		c := w.placed(23)
		*c = history.Call{Op: c.Op, Sent: c.Sent, Done: c.Done, Failure: history.TimedOut}
	}},
	{name: "an order under another key", finds: verify.AnswersTrue, order: []string{
		"UPDATE orders SET idempotency_key = NULL WHERE id = {0}",
	}},
	{name: "an item changed", finds: verify.OrderMatchesOperation, order: []string{
		"UPDATE order_items SET num = num + 1 WHERE order_id = {0} AND goods_id = 3",
	}},
	{name: "an item changed everywhere but at the client", finds: verify.OrderAsRequested, order: []string{
		"UPDATE order_items SET num = num + 1 WHERE order_id = {0} AND goods_id = 3",
		"UPDATE orders SET total = total + 300 WHERE id = {0}",
	}, stock: []string{
		"UPDATE operations SET items = REPLACE(items, '3:2', '3:3') WHERE flag = '{0}'",
		"UPDATE stock_flow SET num = num - 1 WHERE flag = '{0}' AND goods_id = 3",
		"UPDATE stock SET num = num - 1 WHERE goods_id = 3",
	}},
	{name: "no items", finds: verify.OrderAsRequested, order: []string{
		"DELETE FROM order_items WHERE order_id = {23}",
	}},
	{name: "items without an order", finds: verify.OrderAsRequested, order: []string{
		"INSERT INTO order_items VALUES (5, 1, 1, 100)",
	}},
	{name: "a quantity below one", finds: verify.OrderAsRequested, order: []string{
		"UPDATE order_items SET num = -1 WHERE order_id = {23} AND goods_id = 1",
	}},
	{name: "a price changed", finds: verify.OrderAsRequested, order: []string{
		"UPDATE order_items SET price = 1 WHERE order_id = {0} AND goods_id = 3",
		"UPDATE orders SET total = total - 598 WHERE id = {0}",
	}},
	{name: "a total changed", finds: verify.OrderAsRequested, order: []string{
		"UPDATE orders SET total = total + 1 WHERE id = {0}",
	}},
	{name: "two orders under one key", finds: verify.Unexplained, order: []string{
		"ALTER TABLE orders DROP KEY uq_orders_idempotency_key",
		"INSERT INTO orders SELECT id + 1000, status, outcome, reason, idempotency_key, body_hash, total, " +
			"created_at, updated_at, trace FROM orders WHERE id = {23}",
		"INSERT INTO order_items SELECT order_id + 1000, goods_id, num, price FROM order_items WHERE order_id = {23}",
	}, stock: []string{
		"INSERT INTO operations SELECT CONCAT(flag + 1000), state, reason, items, fencing_token, created_at " +
			"FROM operations WHERE flag = '{23}'",
	}},
	{
		name: "rejected while stock was there", finds: verify.RejectedOnlyWhenShort,
		order: []string{"UPDATE orders SET status = 'REJECTED', outcome = 'REJECTED' WHERE id = {25}"},
		stock: []string{
			"UPDATE operations SET state = 'REJECTED' WHERE flag = '{25}'",
			"DELETE FROM stock_flow WHERE flag = '{25}'",
			"UPDATE stock SET num = num + 3 WHERE goods_id = 3",
		},
	},
	{
		name: "rejected after a restore had made room", finds: verify.RejectedOnlyWhenShort,
		order: []string{"UPDATE orders SET status = 'REJECTED', outcome = 'REJECTED' WHERE id = {26}"},
		stock: []string{
			"UPDATE operations SET state = 'REJECTED' WHERE flag = '{26}'",
			"DELETE FROM stock_flow WHERE flag = '{26}'",
			"UPDATE stock SET num = num + 1 WHERE goods_id = 1",
		}, history: func(w *world) { w.answered(26, history.Rejected) },
	},

	{name: "an answer flipped to rejected", finds: verify.AnswersTrue, history: func(w *world) {
		w.answered(0, history.Rejected)
	}},
	{name: "an answer flipped to confirmed", finds: verify.AnswersTrue, history: func(w *world) {
		w.answered(23, history.Confirmed)
	}},
	{name: "confirmed, and cancelled though nobody asked", finds: verify.Unexplained, history: func(w *world) {
		w.h.Calls = slices.DeleteFunc(w.h.Calls, func(c history.Call) bool { return c.Kind == history.Cancel })
	}},
	{name: "given back before anybody asked for it", finds: verify.AnswersOverTime, history: func(w *world) {
		sent, done := w.placed(4).Done, w.placed(5).Sent
		w.h.Calls = slices.Insert(w.h.Calls, 5, history.Call{
			Op: 4, Kind: history.ReadLedger, Sent: sent, Done: done, Code: 200, Status: history.Restored,
			Named: history.ItemsAsSent, Rows: history.GivenBack,
		})
	}},
	{name: "a repeat told another end", finds: verify.AnswersOverTime, history: func(w *world) {
		w.call(5, history.Again, history.Rejected).Replayed = true
	}},
	{
		name: "a repeat told cancelled where the first was told confirmed", finds: verify.AnswersOverTime,
		history: func(w *world) {
			w.call(4, history.Again, history.Cancelled)
		},
	},
	{name: "two orders told for one key", finds: verify.AnswersTrue, history: func(w *world) {
		w.call(5, history.Again, w.placed(5).Status).Order = orderID(6)
	}},
	{name: "an order told that is not there", finds: verify.AnswersTrue, history: func(w *world) {
		c := w.answered(25, history.Confirmed)
		c.Order, c.Total, c.Failure = orderID(999), 900, history.Answered
	}},
	{name: "a wrong total told", finds: verify.AnswersTrue, history: func(w *world) { w.placed(0).Total++ }},
	{name: "a call that never got an end", finds: verify.Served, history: func(w *world) {
		w.h.Patience = time.Second
		c := w.placed(25)
		c.Code, c.Problem, c.Failure = 503, history.Overloaded, history.Answered
	}},
	{name: "a call that was limited each time", finds: verify.Served, history: func(w *world) {
		w.h.Patience = time.Second
		c := w.placed(25)
		c.Code, c.Problem, c.Failure = 429, history.RateLimited, history.Answered
	}},
	{name: "a call that hung in calm", finds: verify.Served, history: func(w *world) {
		w.h.Disturbed = false
		c := w.placed(25)
		c.Code, c.Problem, c.Failure, c.Done = 0, 0, history.TimedOut, c.Sent+15*time.Second
	}},
	{name: "an order that expired in calm", finds: verify.Served, history: func(w *world) {
		w.h.Disturbed, w.h.CancelAfter = false, 20*time.Second
		for _, n := range []int{24, 25} {
			w.placed(n).Done += 2 * time.Second // so slow a machine excuses it
		}
	}},
	{name: "pages that were limited each time", finds: verify.Served, history: func(w *world) {
		w.h.Patience = time.Second
		w.page(0, history.Aside{Code: 429, Problem: history.RateLimited})
	}},
	{name: "a page that leads to itself", finds: verify.AnswersTrue, history: func(w *world) {
		w.page(orderID(0)-1, history.Aside{Code: 200, Next: orderID(0) - 1})
	}},
	{name: "another date on a page", finds: verify.AnswersTrue, history: func(w *world) {
		w.list(0, func(o *history.Listed) { o.AsAnswered, o.Created = false, w.placed(0).Created+1 })
	}},
	{name: "another reason on a page", finds: verify.AnswersTrue, history: func(w *world) {
		w.list(0, func(o *history.Listed) {
			o.AsAnswered, o.Created, o.Reason = false, w.placed(0).Created, w.h.Reasoned("cancelled by the client")
		})
	}},
	{name: "an order refused in calm, and repeated", finds: verify.Served, history: func(w *world) {
		w.h.Disturbed = false
	}},
	{name: "a valid order refused", finds: verify.AnswerWellFormed, history: func(w *world) {
		c := w.placed(25)
		c.Code, c.Failure = 422, history.Answered
	}},
	{name: "an answer that cannot be read", finds: verify.AnswerWellFormed, history: func(w *world) {
		c := w.placed(25)
		c.Code, c.Failure = 201, history.Unreadable
	}},
	{name: "a code that does not fit the status", finds: verify.AnswerWellFormed, history: func(w *world) {
		w.placed(0).Code = 409
	}},
	{name: "a shortage reported as a cancellation", finds: verify.AnswersTrue, history: func(w *world) {
		w.placed(23).Reason = w.h.Reasoned("cancelled by the client")
	}},
	{name: "a reason told of a sold order", finds: verify.AnswersTrue, history: func(w *world) {
		w.placed(0).Reason = w.h.Reasoned("insufficient_stock: goods 1")
	}},
	{name: "the place of another order told", finds: verify.AnswersTrue, history: func(w *world) {
		w.placed(0).Location = history.Elsewhere
	}},
	{
		name: "no Location", finds: verify.AnswersTrue,
		history: func(w *world) { w.placed(0).Location = history.NotLocated },
	},
	{name: "another date told", finds: verify.AnswersTrue, history: func(w *world) { w.placed(0).Created++ }},
	{name: "a date changed", finds: verify.AnswersTrue, order: []string{
		"UPDATE orders SET created_at = created_at + INTERVAL 1 SECOND WHERE id = {0}",
	}},
	{name: "a rejection names a product that was there", finds: verify.RejectedOnlyWhenShort, stock: []string{
		"UPDATE operations SET reason = 'insufficient_stock: goods 3' WHERE flag = '{22}' AND state = 'REJECTED'",
	}, order: []string{"UPDATE orders SET reason = 'insufficient_stock: goods 3' WHERE id = {22}"}},
	{name: "an order expired before its time", finds: verify.ExpiredOnlyWhenDue, history: func(w *world) {
		w.h.CancelAfter = 2 * time.Hour // the run began an hour ago
	}},
	{name: "an order told expired before its time", finds: verify.ExpiredOnlyWhenDue, history: func(w *world) {
		w.h.CancelAfter = 2 * time.Millisecond
		w.placed(24).Status, w.placed(24).Code = history.Cancelled, 409
	}},
	{
		name: "orders at a price that had changed long before", finds: verify.PriceInForce,
		stock: []string{
			"INSERT INTO restocks VALUES ('more-proof-1', 1, NULL, 151)",
			"INSERT INTO stock_flow VALUES ('more-proof-1', 1, 'restock', 1, NOW(6))",
			"UPDATE stock SET price = 151, num = num + 1 WHERE goods_id = 1",
		},
		history: func(w *world) {
			w.h.PriceTTL = time.Microsecond
			w.h.Asides = append(w.h.Asides, repriced(w.h, 21, 1, 2))
		},
	},
	{name: "more acknowledged than there was", finds: verify.NotOversold, history: func(w *world) {
		for n := range 24 {
			w.answered(n, history.Confirmed)
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
		for _, name := range verify.Invariants() {
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
			if v.Outcome != verify.Violation || v.Outcome.ExitCode() != 1 {
				t.Errorf("outcome %s, exit code %d; want a violation", v.Outcome, v.Outcome.ExitCode())
			}
			if !slices.Contains(v.Violated(), c.finds) {
				t.Errorf("found %v, want %s", v.Violated(), c.finds)
			}
			for _, i := range v.Invariants {
				if i.Violations > 0 && len(i.Sample) == 0 {
					t.Errorf("%s: no sample", i.Name)
				}
				for _, found := range i.Sample {
					if strings.ContainsAny(found, "[]{}") {
						t.Errorf("%s: a sample shows Go's values, not words: %s", i.Name, found)
					}
				}
			}
		})
	}
}

// name puts order ids where {n} is.
func name(statement string) string {
	for _, n := range []int{0, 2, 4, 22, 23, 24, 25, 26} {
		statement = strings.ReplaceAll(statement, fmt.Sprintf("{%d}", n), flag(n))
	}
	return statement
}

// An order that changes after the verdict is found if the books are read again.
func TestAnOrderThatChangesAfterTheVerdictIsFound(t *testing.T) {
	t.Parallel()
	for lookAgain, want := range map[time.Duration]verify.Outcome{0: verify.Pass, time.Millisecond: verify.Violation} {
		w := newWorld(t)
		changed := false
		v, err := verify.Run(t.Context(), verify.Config{
			Databases: verify.Databases{OrderDSN: w.orderDSN, StockDSN: w.stockDSN}, History: w.h, Settle: time.Millisecond,
			LookAgain: lookAgain, Judged: func(first *verify.Verdict) {
				if changed = true; first.Outcome != verify.Pass {
					t.Errorf("at first: %s", first)
				}
				w.cancelled(t, 0)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		found := slices.Contains(v.Violated(), verify.Unexplained)
		if v.Outcome != want || changed != (lookAgain > 0) || found != (lookAgain > 0) {
			t.Errorf("looked again after %s: %s, violated: %v", lookAgain, v, v.Violated())
		}
	}
}

func TestFiguresOfTheVerdict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	exec(t, w.stock, "ALTER TABLE stock_flow DROP PRIMARY KEY")
	exec(t, w.stock, "INSERT INTO stock_flow SELECT * FROM stock_flow WHERE flag = '"+flag(0)+"' AND kind = 'deduct'")
	exec(t, w.stock, "UPDATE stock_flow SET num = num - 50 "+
		"WHERE goods_id = 2 AND kind = 'deduct' AND flag = '"+flag(3)+"'")
	v := w.verify(t)
	if v.DoubleDeducted != 3 {
		t.Errorf("%d deducted twice, want the 3 items of one order", v.DoubleDeducted)
	}
	if v.Oversold < 40 {
		t.Errorf("%d oversold, want the 50 pieces less the remaining ones", v.Oversold)
	}
}

func TestUnreadableIsUnknown(t *testing.T) {
	t.Parallel()
	good, stocked := newWorld(t), newStock(t)
	judge := func(change func(*verify.Config)) *verify.Verdict {
		t.Helper()
		cfg := verify.Config{
			Databases: verify.Databases{OrderDSN: good.orderDSN, StockDSN: good.stockDSN}, History: good.h,
			Settle: time.Millisecond,
		}
		change(&cfg)
		v, err := verify.Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	stocked.lost(stocked.next(items(1, 1)), history.Refused)
	for name, change := range map[string]func(*verify.Config){
		"no history": func(c *verify.Config) { c.History, c.HistoryPath = nil, "/nowhere/history.jsonl" },
		"no traffic": func(c *verify.Config) {
			c.History, c.OrderDSN, c.StockDSN = stocked.h, stocked.orderDSN, stocked.stockDSN
		},
		"no stock database": func(c *verify.Config) {
			c.StockDSN = strings.Replace(c.StockDSN, good.stockName, "nowhere", 1)
		},
		"a server that is down":   func(c *verify.Config) { c.OrderDSN = "verifier:x@tcp(127.0.0.1:1)/order_db" },
		"the wrong database":      func(c *verify.Config) { c.StockDSN = c.OrderDSN },
		"databases the wrong way": func(c *verify.Config) { c.StockDSN, c.OrderDSN = c.OrderDSN, c.StockDSN },
	} {
		v := judge(change)
		if v.Outcome != verify.Unknown || v.Outcome.ExitCode() != 2 || len(v.Reasons) == 0 {
			t.Errorf("%s: %s, exit code %d, reasons %q; want unknown", name, v.Outcome, v.Outcome.ExitCode(), v.Reasons)
		}
	}
	exec(t, good.stock, "UPDATE stock SET num = -1 WHERE goods_id = 1")
	good.h.Asked = 1000 // most were not answered
	if v := judge(func(*verify.Config) {}); v.Outcome != verify.Violation || len(v.Reasons) == 0 {
		t.Errorf("a violation with an unreadable part: %s, reasons %q", v.Outcome, v.Reasons)
	}
}
