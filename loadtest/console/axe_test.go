//go:build browser

package console_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/tables"
)

// tooWide names the elements that reach beyond the window.
const tooWide = `[...document.querySelectorAll("body *")]` +
	`.filter((e) => e.getBoundingClientRect().right > innerWidth + 0.1)` +
	`.map((e) => e.tagName + " " + e.textContent.slice(0, 40)).slice(0, 8).join("; ")`

// TestNothingKeepsAnybodyOut has axe-core look at the page in all its states, light and dark: it
// may find nothing that is serious or critical.
func TestNothingKeepsAnybodyOut(t *testing.T) {
	s := theStage(t)
	b := open(t, s.entry())
	b.await(`document.querySelectorAll(".faults > li").length === 17`)
	for range 2 { // the first one is laid over the second
		s.fire(t, tables.Custom{
			Strategy: "unsafe", Load: fire.Config{Orders: 200, Concurrency: 64, Mix: fire.Mix{Goods: 1, Stock: 50}},
		})
		if _, err := s.verdict(t); err != nil {
			t.Fatal(err)
		}
	}
	b.withAxe()
	b.await(`document.querySelector("#books tr.bad")`)
	eval[bool](b, `document.querySelectorAll("#runs input[type=checkbox]")[1].click(), true`)
	b.await(`document.querySelector("#charts .line.over-1")`)
	b.press("#life", "Send")
	b.await(`document.querySelector("#life .rows") && document.querySelector("#life .lanes")`)
	click := func(selector string) { b.do(chromedp.Click(selector)) }
	for _, theme := range []string{"light", "dark"} {
		b.prefers("prefers-color-scheme", theme)
		b.barred(theme + ", the faults")
		click("#tab-free")
		b.barred(theme + ", free play")
		eval[bool](b, `document.querySelector("#runs tbody .link").click(), true`)
		b.await(`document.querySelector("#runs .report")`)
		eval[bool](b, `document.querySelectorAll("#charts figcaption button").forEach((e) => e.click()), true`)
		b.barred(theme + ", a report, the charts as tables")
		b.picture("free-"+theme, 1440, 1000, true)
		eval[bool](b, `document.querySelectorAll("#charts figcaption button").forEach((e) => e.click()), true`)
		eval[bool](b, `document.querySelector("#runs tbody .link").click(), true`)
		eval[bool](b, `document.querySelector(".bar button.keys").click(), true`)
		b.await(`document.querySelector("dialog.help").open`)
		b.barred(theme + ", the keys")
		eval[bool](b, `document.querySelector("dialog.help").close(), true`)
		click("#tab-faults")
		for _, window := range []int64{320, 390, 768, 1440} {
			b.do(chromedp.EmulateViewport(window, 900))
			b.await(`scrollTo(0, 0), document.querySelectorAll("#charts canvas").length === 2`)
			b.picture(fmt.Sprintf("%s-%d", theme, window), window, 900, true)
			b.barred(fmt.Sprintf("%s, %d px wide", theme, window))
			if wide := eval[int64](b, `document.documentElement.scrollWidth`); wide > window {
				t.Errorf("%s: the page is %d px wide in a window of %d: %s", theme, wide, window, eval[string](b, tooWide))
			}
		}
		b.do(chromedp.EmulateViewport(1440, 1000))
	}
	b.clean()
}

// withAxe loads axe-core into the page.
func (b *browser) withAxe() {
	b.t.Helper()
	axe, err := os.ReadFile(filepath.Join("testdata", "axe", "axe.min.js"))
	if err != nil {
		b.t.Fatal(err)
	}
	eval[bool](b, string(axe)+"\n;true")
}

// barred fails the test for each thing that axe-core finds serious or critical.
func (b *browser) barred(where string) {
	b.t.Helper()
	eval[bool](b, `window.found = null, axe.run(document, { resultTypes: ["violations"] }).then((all) => {
		window.found = all.violations.filter((one) => one.impact === "serious" || one.impact === "critical")
			.map((one) => ({ id: one.id, nodes: one.nodes.map((node) => node.target.join(" ") + ": " + node.failureSummary) }));
	}), true`)
	b.await(`window.found`)
	var found []struct {
		ID    string   `json:"id"`
		Nodes []string `json:"nodes"`
	}
	if err := json.Unmarshal([]byte(eval[string](b, `JSON.stringify(window.found)`)), &found); err != nil {
		b.t.Fatal(err)
	}
	for _, one := range found {
		b.t.Errorf("%s: %s: %s", where, one.ID, strings.Join(one.Nodes[:min(len(one.Nodes), 3)], "; "))
	}
}
