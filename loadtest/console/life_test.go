//go:build browser

package console_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"orderstock/loadtest/console"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
)

// stocked runs a small sale, so that there is something to order by hand, and returns the products, by falling id.
func (s *stage) stocked(t *testing.T) []string {
	t.Helper()
	s.fire(t, tables.Custom{
		Load: fire.Config{Orders: 50, Concurrency: 10, Mix: fire.Mix{Goods: 16, Stock: 10_000}},
	})
	s.passes(t)
	rows, err := s.lab.StockDB.QueryContext(t.Context(), "SELECT goods_id FROM stock ORDER BY goods_id DESC LIMIT 16")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var all []string
	for rows.Next() {
		var goods string
		if err := rows.Scan(&goods); err != nil {
			t.Fatal(err)
		}
		all = append(all, goods)
	}
	if err := rows.Err(); err != nil || len(all) < 16 {
		t.Fatalf("%d products: %v", len(all), err)
	}
	return all
}

// lifeOnce returns the life of an order once enough of it is known.
func (s *stage) lifeOnce(t *testing.T, order string, enough func(*console.Life) bool) *console.Life {
	t.Helper()
	var life *console.Life
	var err error
	console.Await(t, func() bool {
		life, err = s.console.Life(t.Context(), order)
		return err == nil && enough(life)
	}, func() string {
		if life != nil {
			_ = console.WriteSpans(t.Output(), life.Spans)
		}
		return fmt.Sprintf("the life of order %s is incomplete: %v, %v", order, life, err)
	})
	return life
}

func traced(life *console.Life, is func(console.Span) bool) bool {
	return slices.ContainsFunc(life.Spans, is)
}

func paused(s console.Span) bool {
	return slices.ContainsFunc(s.Events, func(e console.Event) bool { return e.Name == "paused" })
}

// refused reports whether the span is of a writer who came after another: its token is refused or, if the other wrote
// without the lock, its flag. If it slept for more than a second, the server has ended its transaction.
func refused(s console.Span) bool {
	return strings.Contains(s.Error, "token") || strings.Contains(s.Error, "Duplicate entry") ||
		strings.Contains(s.Error, "invalid connection")
}

// TestShareOfARunIsTraced fires orders that are all traced, instead of the usual one in a hundred.
func TestShareOfARunIsTraced(t *testing.T) {
	s := theStage(t)
	s.stocked(t) // orders that came before
	var before int64
	row := s.lab.OrderDB.QueryRowContext(t.Context(), "SELECT MAX(id) FROM orders")
	if err := row.Scan(&before); err != nil {
		t.Fatal(err)
	}
	few := tables.Custom{Load: fire.Config{Orders: 20, Concurrency: 4}, TraceSample: 1}
	s.fire(t, few)
	s.passes(t)
	open(t, s.entry()) // traces are read while somebody looks
	var traced []console.Recent
	of := func(r console.Recent) bool {
		id, err := strconv.ParseInt(r.OrderID, 10, 64)
		return err == nil && id > before
	}
	console.Await(t, func() bool {
		traced = slices.DeleteFunc(s.state(t).Recent, func(r console.Recent) bool { return !of(r) })
		return len(traced) == 8
	}, func() string { return fmt.Sprintf("of the run's orders the page lists %v, want the last 8", traced) })
}

// TestLifeOfAnOrderByHand sends an order from the page and looks at its steps.
func TestLifeOfAnOrderByHand(t *testing.T) {
	s := theStage(t)
	goods := s.stocked(t)[15] // the form offers the first
	b := open(t, s.entry())
	b.await(`document.querySelector("#life input[name=goods]")?.value === "` + goods + `"`)
	b.do(chromedp.Evaluate[chromedp.Void](
		`[...document.querySelectorAll("#life button")].find((e) => e.innerText === "Send").click()`))
	for _, step := range []string{ // each process sends its own, at its time
		"wait for the lock", "update the stock", "commit", "confirm from the ledger", "set the status",
	} {
		console.Await(t, func() bool {
			if eval[bool](b, `!!document.querySelector("#life .lanes")?.textContent.includes("`+step+`")`) {
				return true
			}
			b.press("#life", "read again") // the page looks by itself for some seconds
			return false
		}, func() string { return "the life has no step " + step + ": " + b.text("#life") })
	}
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#life").scrollIntoView()`))
	b.picture("life", 1440, 1000, false)
	b.clean()
}

// TestLifeOfAPausedHolder pauses the holder of the lock before it writes. Another executes the order, and the first one
// is refused when it wakes up. It may also find that its caller is gone, before it writes: then another order is tried.
func TestLifeOfAPausedHolder(t *testing.T) {
	s := theStage(t)
	goods := s.stocked(t)
	var order string
	for try := range 6 {
		order = s.pausedOrder(t, goods, try)
		life := s.lifeOnce(t, order, func(l *console.Life) bool {
			return traced(l, func(s console.Span) bool { return s.Name == "group" && paused(s) && s.Lane == "stock-1" }) &&
				traced(l, func(s console.Span) bool { return s.Name == "commit" && s.Lane == "stock-2" })
		})
		if traced(life, func(s console.Span) bool { return refused(s) && s.Lane == "stock-1" }) {
			break
		}
		if try == 5 {
			_ = console.WriteSpans(t.Output(), life.Spans)
			t.Fatal("no holder was refused")
		}
		again := trial.Action{Action: "restart", Target: "stock-1"} // a step that was armed once stays disarmed
		if _, err := s.console.Act(t.Context(), again); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, s.entry())
	b.do(chromedp.Evaluate[chromedp.Void](`import("./js/order.js").then((life) => life.show("` + order + `"))`))
	b.await(`document.querySelector("#life .bar.paused .stood") && ` +
		`document.querySelector("#life .bar.error .cross")`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#life").scrollIntoView()`))
	b.picture("life-paused", 1440, 1000, false)
	b.do(chromedp.Evaluate[chromedp.Void](`document.documentElement.dataset.theme = "dark"`))
	b.picture("life-paused-dark", 1440, 1000, false)
	b.do(chromedp.EmulateViewport(390, 800)) // the page is longer now
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#life").scrollIntoView()`))
	b.picture("life-paused-narrow", 390, 800, false)
	b.clean()
	if _, err := s.console.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// stopped reports whether the replica's process is stopped.
func (s *stage) stopped(t *testing.T, name string) bool {
	t.Helper()
	for _, r := range s.lab.Replicas() {
		if r.Name() == name {
			return r.Paused()
		}
	}
	t.Fatalf("no replica %s", name)
	return false
}

// pausedOrder pauses stock-1 at the next order that it is about to write, and resumes it once another stock service has
// executed that order.
func (s *stage) pausedOrder(t *testing.T, goods []string, scene int) (order string) {
	t.Helper()
	arm := trial.Action{Action: "arm-pause", Target: "stock-1", Step: "update-stock", When: "before"}
	if _, err := s.console.Act(t.Context(), arm); err != nil {
		t.Fatal(err)
	}
	// Some products prefer stock-1, and none does for some seconds after it was silent in another test.
	try := 0
	console.Await(t, func() bool {
		placed, err := s.console.PlaceByHand(t.Context(), console.HandOrder{
			Items: []console.HandItem{{GoodsID: goods[try%len(goods)], Num: 1}}, Key: fmt.Sprintf("paused-%d-%d", scene, try),
		})
		if err != nil {
			t.Fatal(err)
		}
		order, try = placed.OrderID, try+1
		return s.stopped(t, "stock-1")
	}, func() string { return "no order was executed by stock-1" })
	s.lifeOnce(t, order, func(l *console.Life) bool { return l.Order != nil && l.Order["status"] == "CONFIRMED" })
	if _, err := s.console.Act(t.Context(), trial.Action{Action: "resume", Target: "stock-1"}); err != nil {
		t.Fatal(err)
	}
	return order
}
