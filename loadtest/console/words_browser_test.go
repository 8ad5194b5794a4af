//go:build browser

package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/verify"
)

// publishedFaults is what GET /api/faults answers.
func publishedFaults(t *testing.T) string {
	t.Helper()
	all, err := json.Marshal(tables.Published)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// TestSoldOfWhatIsPromised: a piece that comes with a later price counts from the start.
func TestSoldOfWhatIsPromised(t *testing.T) {
	s := theStage(t)
	b := open(t, s.entry())
	b.idle()
	eval[bool](b, `window.told = new Set(), new MutationObserver(() => document.querySelector(".hero .running") && `+
		`told.add(/of [0-9,]+/.exec(document.querySelector(".hero h1").innerText)?.[0] || "of nothing")).observe(`+
		`document.querySelector(".hero"), {subtree: true, childList: true, characterData: true}), true`)
	s.fire(t, tables.Custom{Load: fire.Config{
		Orders: 100, Rate: 12, Concurrency: 8, Mix: fire.Mix{Goods: 1, Stock: 300, NumMax: 1, ItemsMax: 1},
	}})
	s.passes(t)
	b.await(`/of 300[^]*PASS/.test(document.querySelector(".hero h1").innerText)`)
	if told := eval[string](b, `[...told].filter((text) => text !== "of nothing").join()`); told != "of 300" {
		t.Errorf("the headline says sold %s, want of 300 all the time", told)
	}
	b.clean()
}

// TestOrdersAreLinked and nothing else: ids of products look the same.
func TestOrdersAreLinked(t *testing.T) {
	const order, product = "2124806257778647040", "1795629210892000001"
	s := openStill(t, `"verdict": {"invariants": [{"name": "n", "says": "it holds", "violations": 2,
		"sample": ["flag `+order+`, key k: want 2 of product `+product+`, found 1 of product `+product+`",
			"product `+product+`: `+product+` and `+order+`"],
		"findings": [{"flag": "`+order+`"}, {"product": "`+product+`"}]}]},
		"log": [{"at": "2026-01-02T03:04:05Z", "t_ms": 5, "kind": "books", "text": "product `+product+`: 3 in"}]`, nil)
	s.await(`document.querySelector("#judged tr.bad") && document.querySelector("#events tbody tr")`)
	links := eval[string](s.browser, `[...document.querySelectorAll("#judged tbody .link, #events .link")]`+
		`.map((e) => e.innerText).join()`)
	if links != order {
		t.Errorf("the links lead to %q, want %s alone", links, order)
	}
	s.clean()
}

// TestBooksAreNoVerdict: books that disagree while the run goes on are not announced as its verdict.
func TestBooksAreNoVerdict(t *testing.T) {
	s := openStill(t, `"run": {"id": "r1", "title": "free play"}, "hero": {"sentence": "sold 412 of 300",
		"word": "`+tables.Disagreeing+`"}, "books": {"wrong": "product 1: 412 pieces", "rows": [{"goods": "1",
		"name": "product 1", "in": 300, "out": 412, "back": 0, "there": 0, "told": 412, "wrong": "412 pieces"}]}`, nil)
	s.await(`document.querySelector(".hero .verdict.bad")`)
	if hero := s.text(".hero .say"); strings.Contains(hero, "VIOLATION") || strings.Contains(hero, "verdict say") ||
		!strings.Contains(hero, "The judge") {
		t.Errorf("the headline of a run that is not judged: %s", hero)
	}
	if judged := s.text("#judged"); !strings.Contains(judged, "Not judged yet") {
		t.Errorf("the verdict of a run that is not judged: %s", judged)
	}
	s.picture("disagreeing", 1440, 1000, false)
	s.clean()
}

// TestOnlyALinkOffersAFault: neither a run that was played before, nor the reload of its page, is called a link.
func TestOnlyALinkOffersAFault(t *testing.T) {
	s := openStill(t, "", map[string]string{
		"/api/faults": publishedFaults(t), "/api/play": "{}", "/api/fire": "{}",
	})
	offers := func(want bool, when string) {
		t.Helper()
		s.await(`document.querySelector(".press .why")`)
		if words := s.text(".press"); strings.Contains(words, "This link offers") != want {
			t.Errorf("%s, the page says %s", when, words)
		}
	}
	s.await(`document.querySelector("#fault-A")`)
	run := func(fault, variant string) {
		eval[bool](s.browser, fmt.Sprintf(`page.state.run.value = {id: "r", title: "a run", fault: %q, variant: %q}, true`,
			fault, variant))
	}
	s.press(".press", "Broken")
	s.posted("/api/play", 1)
	run("A", "broken")
	run("", "") // free play, by another page
	offers(false, "after another page's run")
	eval[bool](s.browser, `document.querySelector("#tab-free").click(), true`)
	s.press(".free", "Fire")
	s.posted("/api/fire", 1)
	if hash := eval[string](s.browser, `location.hash`); strings.Contains(hash, "variant") {
		t.Errorf("after free play the address offers a fault: %s", hash)
	}
	eval[bool](s.browser, `location.hash = "#fault=E&variant=fixed", true`)
	s.await(`document.querySelector(".press").innerText.includes("This link offers fault E, fixed")`)
	run("E", "fixed") // the page of this run is loaded again
	s.await(`document.querySelector(".hero .say").innerText.includes("a run")`)
	offers(false, "while its run is shown")
	run("", "")
	s.await(`document.querySelector(".press").innerText.includes("This link offers fault E, fixed")`)
	s.press(".press", "Fixed")
	s.posted("/api/play", 2)
	offers(false, "after the offer was taken")
	s.press(".press", "As it runs here")
	s.posted("/api/play", 3)
	if hash := eval[string](s.browser, `location.hash`); !strings.Contains(hash, "variant=here") {
		t.Errorf("after the third variant the address is %s", hash)
	}
	s.clean()
}

// TestSlowRunIsNotTicked: a broken variant that costs only time is slow in the list of runs and of faults, not right.
func TestSlowRunIsNotTicked(t *testing.T) {
	row, err := json.Marshal(tables.Run{
		ID: "r1", Title: "One lock for all products", Fault: "H", Variant: tables.Broken, Verdict: verify.Pass,
		Sentence: "9 orders a second: one lock for all products",
	})
	if err != nil {
		t.Fatal(err)
	}
	s := openStill(t, `"runs": [`+string(row)+`]`, map[string]string{"/api/faults": publishedFaults(t)})
	s.await(`document.querySelector(".faults .seen")`)
	if ticked := s.text("#runs .good, .faults .seen.good"); ticked != "" || !s.says("#runs .verdict-small", "slow") {
		t.Errorf("ticked: %q; the list of runs says %q", ticked, s.text("#runs .verdict-small"))
	}
	s.clean()
}

// TestFiguresWithoutAValueAreLeftOut of the orders.
func TestFiguresWithoutAValueAreLeftOut(t *testing.T) {
	s := openStill(t, `"statuses": {"CONFIRMED": 315, "REJECTED": 485}`, nil)
	s.await(`document.querySelector("#orders dd")`)
	if words := s.text("#orders"); strings.Contains(words, "–") {
		t.Errorf("a figure has no value: %s", words)
	}
	eval[bool](s.browser, `page.state.commits.value = {per_s: 12, orders_per_commit: 3.5}, true`)
	s.await(`/3.5\s+orders for each commit/.test(document.querySelector("#orders").innerText)`)
	s.clean()
}

// TestBreaksByHandAreInTheCommand, or the page says that they are not.
func TestBreaksByHandAreInTheCommand(t *testing.T) {
	s := openStill(t, `"run": {"id": "r1", "title": "A", "fault": "A", "command": "make play FAULT=A SEED=42"},
		"faults": [{"id": "1", "what": "kill", "where": "stock-1", "status": "fired", "fired": 1, "by_hand": true}]`, nil)
	s.await(`document.querySelector(".hero .command")`)
	if words := s.text(".hero .command"); !strings.Contains(words, "by hand") {
		t.Errorf("the command of a played fault does not say what it leaves out: %s", words)
	}
	eval[bool](s.browser, `page.state.run.value = {id: "r2", title: "free play", `+
		`command: "bin/loadtest run --break '1s kill stock-1'"}, true`)
	s.await(`document.querySelector(".hero .command").innerText.includes("kill stock-1")`)
	if words := s.text(".hero .command"); strings.Contains(words, "by hand") {
		t.Errorf("the command has what was broken by hand, and the page says otherwise: %s", words)
	}
	eval[bool](s.browser, `document.querySelector("#tab-free").click(), true`)
	s.await(`document.querySelector(".free .command")`)
	if words := s.text(".free"); !strings.Contains(words, "the command of the run") {
		t.Errorf("free play does not say where the command with the breaks is: %s", words)
	}
	s.clean()
}

// TestBooksSayWhyOutAndSoldDiffer in the words of the server, and praise nothing then: pieces of failed orders may be
// gone. Nor does a first try promise others.
func TestBooksSayWhyOutAndSoldDiffer(t *testing.T) {
	s := openStill(t, `"run": {"id": "r1", "title": "fault E", "attempt": 1, "attempts": 3},
		"books": {"heard": true, "unequal": "7 more pieces went out than were confirmed", "wrong": "",
		"rows": [{"goods": "1", "name": "product 1", "in": 300, "out": 57, "back": 0, "there": 243, "told": 50}]}`, nil)
	s.await(`document.querySelector("#books").innerText.includes("7 more pieces went out")`)
	if eval[bool](s.browser, `!!document.querySelector("#books .good")`) || s.says("#books", "✓") {
		t.Errorf("a tick stands beside %q", s.text("#books"))
	}
	if s.says(".what", "try") || !s.says(".what", "fault E") {
		t.Errorf("of the first try, %q is said", s.text(".what"))
	}
	s.picture("unequal", 1440, 1000, false)
	s.clean()
}

// TestFaultsComeFirstOnAPhone, before the books that they break; the keyboard reaches them in the same order.
func TestFaultsComeFirstOnAPhone(t *testing.T) {
	s := openStill(t, "", map[string]string{"/api/faults": publishedFaults(t)})
	s.await(`document.querySelector("#fault-A")`)
	s.do(chromedp.EmulateViewport(390, 800))
	order := eval[string](s.browser, `[".press", ".faults", "#books", "#charts", "#lock", "#judged", "#orders", "#way"]`+
		`.map((name) => [document.querySelector(name).getBoundingClientRect().top, name]).sort((a, b) => a[0] - b[0])`+
		`.map(([, name]) => name).join(" ")`)
	if want := ".press .faults #books #charts #lock #judged #orders #way"; order != want {
		t.Errorf("from top to bottom there are %s, want %s", order, want)
	}
	small := eval[string](s.browser, `[...document.querySelectorAll(".faults button, .press button, .tabs button")]`+
		`.filter((e) => e.getBoundingClientRect().height < 44).map((e) => e.innerText).join()`)
	if small != "" {
		t.Errorf("less than 44 px high: %s", small)
	}
	s.clean()
}

// hiding lists the elements of the page that hide rows of their content in a box that scrolls.
const hiding = `[...document.querySelectorAll("main *")]` +
	`.filter((e) => /auto|scroll/.test(getComputedStyle(e).overflowY) && e.scrollHeight > e.clientHeight + 1)` +
	`.map((e) => e.localName + "." + e.className + " " + e.clientHeight + " of " + e.scrollHeight).join()`

// TestNoBoxHidesRows: neither of the faults, of free play, of the runs nor of an order.
func TestNoBoxHidesRows(t *testing.T) {
	rows := make([]string, 50)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id": "r%d", "title": "free play", "seed": "1", "verdict": "PASS"}`, i)
	}
	items := strings.Repeat(`{"goods_id": "1", "num": 1, "price": 100},`, 30)
	s := openStill(t, `"runs": [`+strings.Join(rows, ",")+`]`, map[string]string{
		"/api/faults": publishedFaults(t),
		"/api/orders/7": `{"order": {"id": "7", "created_at": "2026-11-29T01:52:52.19925Z"},
			"operation": {"fencing_token": "0000000000000b570000000000000000"}, "items": [` + strings.TrimSuffix(items, ",") +
			`], "flows": [], "answers": []}`,
	})
	s.await(`document.querySelector("#fault-A")`)
	s.set("#life input[name=order]", "7")
	s.press("#life", "Show its life")
	s.await(`document.querySelectorAll("#life .rows tr").length > 30`)
	for _, size := range [][2]int64{{1440, 900}, {768, 900}, {390, 800}} {
		s.do(chromedp.EmulateViewport(size[0], size[1]))
		wide := eval[string](s.browser, `[...document.querySelectorAll("#life .scroll")]`+
			`.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.clientWidth + " of " + e.scrollWidth).join()`)
		if wide != "" {
			t.Errorf("%d px wide: the rows of an order are cut off, %s", size[0], wide)
		}
		for _, tab := range []string{"free", "faults"} {
			eval[bool](s.browser, fmt.Sprintf(`document.querySelector("#tab-%s").click(), true`, tab))
			s.await(fmt.Sprintf(`document.querySelector("#tab-%s").ariaSelected === "true"`, tab))
			if boxes := eval[string](s.browser, hiding); boxes != "" {
				t.Errorf("%d px wide, %s: rows are hidden in %s", size[0], tab, boxes)
			}
		}
	}
	s.do(chromedp.EmulateViewport(1440, 900))
	few := eval[int](s.browser, `document.querySelectorAll("#runs tbody tr").length`)
	s.press("#runs", "all 50")
	s.await(`document.querySelectorAll("#runs tbody tr").length === 50`)
	if few >= 50 || eval[string](s.browser, hiding) != "" {
		t.Errorf("%d runs are shown at first; rows are hidden in %s", few, eval[string](s.browser, hiding))
	}
	s.clean()
}
