//go:build browser

package console_test

import (
	"fmt"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"orderstock/loadtest/console"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/texts"
)

// TestPagesOfFaultsReadWell in both languages, at any width, in light and in dark; each leads back to its fault in the
// console.
func TestPagesOfFaultsReadWell(t *testing.T) {
	web := httptest.NewServer(attached(t, console.ServerConfig{Token: token}).Handler())
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)         // before
	for name, f := range map[string]tables.Fault{ // two lanes, and four
		"a.md": tables.Published[0], "c.md": tables.Published[2], "c.zh-CN.md": tables.Published[2],
	} {
		b := open(t, web.URL+"/faults/"+name+"?token="+token)
		b.await(`document.querySelectorAll("table td").length > 20`)
		at := eval[string](b, `getComputedStyle(document.querySelector("tbody td")).textAlign`)
		if !strings.HasSuffix(at, "right") {
			t.Errorf("%s: the times are aligned %s, want right", name, at)
		}
		b.withAxe()
		for _, theme := range []string{"light", "dark"} {
			b.prefers("prefers-color-scheme", theme)
			for _, window := range []int64{390, 1440} {
				where := fmt.Sprintf("page-%s-%s-%d", name, theme, window)
				b.picture(where, window, 900, true)
				b.barred(where)
				if wide := eval[int64](b, `document.documentElement.scrollWidth`); wide > window {
					t.Errorf("%s: it is %d px wide: %s", where, wide, eval[string](b, tooWide))
				}
			}
		}
		eval[bool](b, `document.querySelector("main a").click(), true`)
		b.do(chromedp.WaitVisible("#fault-" + f.Letter)) // another page is loaded
	}
}

// broken lists the words and numbers that go on in a further line, except in code.
const broken = `(() => {
	const found = [], range = document.createRange();
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walker.nextNode()) {
		const node = walker.currentNode;
		if (!node.parentElement.checkVisibility() || node.parentElement.closest("pre, code, script, .hidden")) continue;
		for (const word of node.textContent.matchAll(/[\w.,]+/g)) {
			range.setStart(node, word.index);
			range.setEnd(node, word.index + word[0].length);
			const lines = new Set([...range.getClientRects()].filter((box) => box.width > 0).map((box) => Math.round(box.top)));
			if (lines.size > 1) found.push(word[0] + " in: " + node.textContent.trim());
		}
	}
	return [...new Set(found)].join("; ");
})()`

// TestPagesOfFaultsBreakNoWord: on a phone, in both languages, statuses and numbers stand in one piece, and nothing is
// beyond the window's edge.
func TestPagesOfFaultsBreakNoWord(t *testing.T) {
	web := httptest.NewServer(attached(t, console.ServerConfig{Token: token}).Handler())
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections) // before
	b := open(t, web.URL+"/faults/a.md?token="+token)
	b.do(chromedp.EmulateViewport(390, 900))
	for _, f := range tables.Published {
		for _, in := range texts.Languages() {
			name := in.File(path.Base(f.PageFile()))
			b.do(chromedp.Navigate(web.URL+"/faults/"+name), chromedp.WaitReady("tbody"))
			if words := eval[string](b, broken); words != "" {
				t.Errorf("%s: broken in two: %s", name, words)
			}
			const scrolls = `[document.documentElement, ...document.querySelectorAll("table")]` +
				`.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.localName + " " + e.scrollWidth).join()`
			if wide := eval[string](b, scrolls); wide != "" {
				t.Errorf("%s: wider than its place: %s: %s", name, wide, eval[string](b, tooWide))
			}
		}
	}
	b.clean()
}
