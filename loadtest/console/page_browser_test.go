//go:build browser

package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"orderstock/loadtest/console"
)

// stalled is a run with no answers in three intervals of eight.
const stalled = `[
	{"t_ms": 250, "orders_per_s": 80, "confirmed_per_s": 80, "p50_ms": 4, "p99_ms": 90},
	{"t_ms": 500, "orders_per_s": 80, "confirmed_per_s": 80, "p50_ms": 5, "p99_ms": 80},
	{"t_ms": 750, "orders_per_s": 0, "confirmed_per_s": 0},
	{"t_ms": 1000, "orders_per_s": 0, "confirmed_per_s": 0},
	{"t_ms": 1250, "orders_per_s": 40, "confirmed_per_s": 40, "p50_ms": 9, "p99_ms": 99},
	{"t_ms": 1500, "orders_per_s": 0, "confirmed_per_s": 0},
	{"t_ms": 1750, "orders_per_s": 44, "confirmed_per_s": 44, "p50_ms": 7, "p99_ms": 70},
	{"t_ms": 2000, "orders_per_s": 44, "confirmed_per_s": 44, "p50_ms": 7, "p99_ms": 60}]`

// TestChartsHaveGapsInAStall: where no order was answered, neither chart draws how long answers took.
func TestChartsHaveGapsInAStall(t *testing.T) {
	s := openStill(t, `"samples": `+stalled+`, "run": {"id": "r1", "title": "free play"}`, nil)
	s.await(`document.querySelectorAll("#charts canvas").length === 2`)
	// In the live chart, nothing of the line's colour is between the two ends of the gap.
	const column = `(() => {
		const canvas = document.querySelectorAll("#charts canvas")[1];
		const plot = document.querySelectorAll("#charts .u-over")[1];
		const x = Math.round((plot.offsetLeft + plot.offsetWidth * AT / 2000) * devicePixelRatio);
		const data = canvas.getContext("2d").getImageData(x - 1, 0, 3, canvas.height).data;
		let blue = 0;
		for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 128 && data[i + 2] - data[i] > 100) blue++;
		return blue;
	})()`
	at := func(ms string) int { return eval[int](s.browser, strings.ReplaceAll(column, "AT", ms)) }
	if stroke := at("375"); stroke == 0 {
		t.Error("the live chart has no line where orders were answered")
	}
	if stroke := at("875"); stroke > 0 {
		t.Error("the live chart has a line where no order was answered")
	}
	if dot := at("1250"); dot == 0 {
		t.Error("the live chart leaves out a sample between two gaps")
	}
	s.picture("stall", 1440, 1000, false)
	s.clean()
}

// TestFaultsOutsideTheChartAreNotDrawn: a fault after the last sample has no place on the axis.
func TestFaultsOutsideTheChartAreNotDrawn(t *testing.T) {
	s := openStill(t, `"samples": `+stalled+`, "run": {"id": "r1", "title": "free play"}`, nil)
	s.await(`document.querySelectorAll("#charts canvas").length === 2`)
	eval[bool](s.browser, `window.written = [], (() => {
		const write = CanvasRenderingContext2D.prototype.fillText;
		CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
			written.push(text);
			write.call(this, text, ...at);
		};
		page.state.faults.value = [
			{ id: "2", what: "kill", where: "too-late", status: "fired", fired: 1, fired_ms: 9000 },
			{ id: "1", what: "kill", where: "stock-1", status: "healed", fired: 1, fired_ms: 600 }];
	})(), true`)
	s.await(`written.includes("kill stock-1")`)
	if eval[bool](s.browser, `written.includes("kill too-late")`) {
		t.Error("the chart names a fault that is not on its axis")
	}
	s.clean()
}

// TestKeysAreListedOnAPhone: its buttons name no keys, but their list does.
func TestKeysAreListedOnAPhone(t *testing.T) {
	s := openStill(t, "", nil)
	s.do(chromedp.EmulateViewport(390, 800))
	eval[bool](s.browser, `document.querySelector(".bar button.keys").click(), true`)
	s.await(`document.querySelector("dialog.help").open`)
	for selector, want := range map[string]bool{"dialog.help dt kbd": true, ".bar button kbd": false} {
		if got := eval[bool](s.browser, `document.querySelector("`+selector+`").checkVisibility()`); got != want {
			t.Errorf("%s is shown: %t, want %t", selector, got, want)
		}
	}
	s.clean()
}

// aRun is what GET /api/runs/{id} answers.
const aRun = `{"row": {"id": "r1", "title": "free play", "variant": "", "seed": "1", "verdict": "PASS"},
	"verdict": {"invariants": []}, "samples": ` + stalled + `}`

// TestRunsAreLaidOverOnce: the boxes of the table say which runs lie over the charts.
func TestRunsAreLaidOverOnce(t *testing.T) {
	answers, rows := map[string]string{}, []string{}
	for _, id := range []string{"r1", "r2", "r3", "r4"} {
		answers["/api/runs/"+id] = strings.ReplaceAll(aRun, `"r1"`, `"`+id+`"`)
		rows = append(rows, `{"id": "`+id+`", "title": "free play", "seed": "1", "verdict": "PASS"}`)
	}
	rows = append(rows, `{"id": "gone", "title": "free play", "seed": "1", "verdict": "PASS"}`)
	s := openStill(t, `"runs": [`+strings.Join(rows, ",")+`]`, answers)
	s.await(`document.querySelectorAll("#runs input[type=checkbox]").length === 5`)
	eval[bool](s.browser, `window.boxes = [...document.querySelectorAll("#runs input[type=checkbox]")], true`)
	is := func(over, ticked string) {
		t.Helper()
		s.await(`page.overlays.value.map((run) => run.row.id).join() === "` + over + `"`)
		s.await(`boxes.map((box, i) => box.checked ? i + 1 : "").join("") === "` + ticked + `"`)
	}
	eval[bool](s.browser, `boxes[4].click(), true`)
	s.await(`document.querySelector(".note.wrong")`)
	is("", "")
	eval[bool](s.browser, `boxes[0].click(), boxes[0].click(), boxes[0].click(), true`)
	time.Sleep(300 * time.Millisecond) // all three were answered
	is("r1", "1")
	eval[bool](s.browser, `boxes[1].click(), true`)
	is("r1,r2", "12")
	eval[bool](s.browser, `boxes[2].click(), true`)
	is("r1,r2,r3", "123")
	eval[bool](s.browser, `boxes[3].click(), true`)
	s.await(`document.querySelector(".note").innerText.includes("At most 3")`)
	is("r1,r2,r3", "123")
	eval[bool](s.browser, `boxes[1].click(), true`)
	is("r1,r3", "13")
}

// set chooses in a select, or writes into an input, as a user does.
func (s *still) set(selector, value string) {
	s.t.Helper()
	eval[bool](s.browser, fmt.Sprintf(`(() => {
		const field = document.querySelector(%q);
		field.value = %q;
		field.dispatchEvent(new Event(field.localName === "select" ? "change" : "input", { bubbles: true }));
	})(), true`, selector, value))
}

// posted waits until the page has posted so many bodies to a path, and returns them.
func (s *still) posted(path string, n int) []string {
	s.t.Helper()
	var all []string
	console.Await(s.t, func() bool { all = s.sent(path); return len(all) >= n }, func() string {
		return fmt.Sprintf("%q was posted to %s, want %d", all, path, n)
	})
	return all
}

// TestFormMatchesItsScenario: free play fires, breaks and copies the settings that it shows.
func TestFormMatchesItsScenario(t *testing.T) {
	s := openStill(t, "", map[string]string{"/api/act": "{}"})
	eval[bool](s.browser, `document.querySelector("#tab-free").click(), true`)
	s.await(`document.querySelector(".free select[name=action]")`)
	s.set(".free select[name=action]", "kill-server")
	s.await(`document.querySelector(".free select[name=target]").value === "redis"`)
	s.set(".free select[name=target]", "mysql")
	s.set(".free select[name=action]", "pause")
	s.await(`document.querySelector(".free select[name=target]").value === "order-1"`)
	s.press(".free", "Do it now")
	if body := s.posted("/api/act", 1)[0]; body != `{"action":"pause","target":"order-1"}` {
		t.Errorf("the page breaks %s, but shows that it pauses order-1", body)
	}
	if command := s.text(".free .command"); !strings.HasSuffix(command, "--orders 800 --repeat 0.1") {
		t.Errorf("the command is not of the settings that the page shows: %s", command)
	}
	s.set(".free input[name=settle_s]", "40")
	s.set(".free input[name=trace_sample]", "0.5")
	s.await(`/--settle 40s/.test(document.querySelector(".free .command").innerText)`)
	if command := s.text(".free .command"); strings.Contains(command, "--trace-sample") {
		t.Errorf("nobody would receive the spans of %s", command)
	}
	s.set(".free select[name=strategy]", "etcd")
	s.await(`[...document.querySelectorAll(".free p code")].some((e) => e.textContent === "--fast")`)
	s.set(".free select[name=strategy]", "unsafe")
	s.await(`document.querySelector(".free").innerText.includes("oversells")`)
	if words := s.text(".free"); strings.Contains(words, "`") || strings.Contains(words, "--allow-unsafe") {
		t.Errorf("free play speaks of flags of the command line: %s", words)
	}
	s.clean()
}

// TestAgainIsTheSameOrder changes the form between an order by hand and its repeat.
func TestAgainIsTheSameOrder(t *testing.T) {
	s := openStill(t, "", map[string]string{"/api/orders": `{"status": 201, "body": {"status": "CONFIRMED"}}`})
	s.set("#life input[name=goods]", "11")
	s.press("#life", "Send")
	s.await(`document.querySelector("#life").innerText.includes("answered 201")`)
	s.set("#life input[name=goods]", "12")
	s.set("#life input[name=num]", "9")
	s.press("#life", "Send it again")
	if all := s.posted("/api/orders", 2); all[0] != all[1] {
		t.Errorf("the repeat of\n%s is\n%s", all[0], all[1])
	}
	s.clean()
}

// TestLifeWithoutAKnownStep: there is nothing to draw, and no number is made up.
func TestLifeWithoutAKnownStep(t *testing.T) {
	s := openStill(t, "", map[string]string{"/api/orders/7": `{"spans": [
		{"id": "a", "name": "SELECT", "lane": "order-1", "start_us": 5, "duration_us": 9}]}`})
	s.set("#life input[name=order]", "7")
	s.press("#life", "Show its life")
	s.await(`document.querySelector("#life .rows")`)
	time.Sleep(300 * time.Millisecond) // the figure waits for its width
	if made := eval[bool](s.browser, `/NaN|Infinity/.test(document.querySelector("#life").innerHTML)`); made {
		t.Error("the life of an order without a known step has numbers that are none")
	}
	if !s.says("#life", "no step that the figure knows") {
		t.Errorf("the life does not say that there is nothing to draw: %s", s.text("#life"))
	}
	s.clean()
}

// TestWayMarksStrikes: each fault is amber where it strikes, and nothing is once all is healed.
func TestWayMarksStrikes(t *testing.T) {
	s := openStill(t, "", nil)
	const marked = `[...document.querySelectorAll("#way .edge, #way .tile, #way .server")]
		.filter((e) => e.matches(".struck, .armed"))
		.map((e) => (e.dataset.edge || e.querySelector("text:nth-of-type(2), .title").textContent) +
			(e.matches(".armed") ? " armed" : "")).sort().join()`
	strike := func(faults, want string) {
		t.Helper()
		eval[bool](s.browser, `page.state.faults.value = [`+faults+`], true`)
		s.await(marked + ` === "` + want + `"`)
	}
	fault := func(what, where, status string) string {
		what, wire, _ := strings.Cut(what, " to ")
		return fmt.Sprintf(`{ id: %q, what: %[1]q, where: %q, wire: %q, status: %q, fired: 1, fired_ms: 9 }`,
			what, where, wire, status)
	}
	for _, test := range []struct{ what, where, status, want string }{
		{"pause", "stock-1", "fired", "stock-1"},
		{"cut to redis", "stock-1", "fired", "stock-1,stock_redis"},
		{"slow to stock", "order-1", "armed", "order-1 armed,order_stock armed"},
		{"kill-server", "mysql", "fired", "MySQL"},
		{"kill-server", "mysql", "armed", "MySQL armed"},
		{"duplicate", "", "fired", "order_stock"},
		{"requests-duplicated", "", "fired", "order_stock"},
		{"expire-sessions", "", "armed", "ZooKeeper armed,stock_zookeeper armed"},
		{"flush-redis", "", "healed", "Redis"}, // over at once, and marked for a while
		{"cut to redis", "stock-1", "healed", ""},
	} {
		strike(fault(test.what, test.where, test.status), test.want)
		looks := eval[string](s.browser, `[...document.querySelectorAll("#way :is(.struck, .armed) > :is(rect, line)")]`+
			`.map((e) => getComputedStyle(e).stroke).filter((stroke) => stroke !== "rgb(230, 159, 0)").join()`)
		if looks != "" {
			t.Errorf("%s %s: its mark is %s, want amber", test.what, test.status, looks)
		}
	}
	strike(fault("cut to mysql", "stock-1", "fired")+","+
		fault("slow to stock", "order-1", "armed")+","+fault("expire-sessions", "", "armed"),
		"ZooKeeper armed,order-1 armed,order_stock armed,stock-1,stock_mysql,stock_zookeeper armed")
	s.picture("struck", 1440, 1000, false)
	s.clean()
}

// TestSmallThings of the page that were wrong.
func TestSmallThings(t *testing.T) {
	s := openStill(t, `"mode": "attached",
		"log": [{"at": "2026-01-02T03:04:05Z", "t_ms": 5, "kind": "run", "text": "it began"}]`, nil)
	if words := s.text("#way .aside"); strings.Contains(words, "run") {
		t.Errorf("an attached console without a run says %q", words)
	}
	line := eval[string](s.browser,
		`getComputedStyle(document.querySelector(".bar .theme span:last-child")).borderTopWidth`)
	if line != "0px" {
		t.Errorf("the word in the button for the colours has a line of %s above", line)
	}
	s.do(chromedp.EmulateViewport(390, 800))
	s.await(`document.querySelector("#events tbody .clock").checkVisibility()`)
	s.clean()
}
