//go:build browser

package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"orderstock/loadtest/console"
)

// TestThemeSwitch switches the colours by the button. The choice overrides the system's, also after the page is loaded
// again.
func TestThemeSwitch(t *testing.T) {
	b := open(t, theStage(t).entry())
	b.idle()
	system := func(theme string) { t.Helper(); b.prefers("prefers-color-scheme", theme) }
	ground := func() string {
		t.Helper()
		return eval[string](b, `getComputedStyle(document.body).backgroundColor`)
	}
	system("light")
	light := ground()
	system("dark")
	dark := ground()
	if light == dark {
		t.Fatalf("the ground is %s in light and in dark", light)
	}
	is := func(chosen, want string) {
		t.Helper()
		b.await(fmt.Sprintf(`document.querySelector(".bar button.theme")?.ariaLabel === "Colours: %s"`, chosen))
		if got := ground(); got != want {
			t.Errorf("%s: the ground is %s, want %s", chosen, got, want)
		}
	}
	is("auto", dark)
	b.do(chromedp.Click(".bar button.theme"))
	is("light", light)
	b.do(chromedp.Reload())
	is("light", light)
	b.do(chromedp.Click(".bar button.theme"))
	system("light")
	is("dark", dark)
	b.do(chromedp.Click(".bar button.theme"))
	is("auto", light)
	b.clean()
}

// TestReducedMotion has counts on the edges rise, which sends dots along them unless motion is to be reduced.
func TestReducedMotion(t *testing.T) {
	d := openDoor(t, theStage(t).server)
	b := open(t, d.entry)
	b.idle()
	(<-d.streams)() // an event would overwrite the counts
	b.await(`document.querySelector(".bar .status").innerText.includes("Connection lost")`)
	eval[bool](b, `window.moved = [], window.page = null, (() => {
		const animate = Element.prototype.animate;
		Element.prototype.animate = function (...how) {
			moved.push(this.closest(".edge").querySelector(".unit").textContent);
			return animate.apply(this, how);
		};
		document.styleSheets[0].insertRule("body { transition: color 5s; }");
		import("./js/state.js").then((module) => { page = module; });
	})(), true`)
	b.await(`page && performance.now() > 1000`) // a page that has just opened sends no dots
	rise := func(edges, written string) {
		t.Helper()
		eval[bool](b, `page.state.edges.value = `+edges+`, true`)
		b.await(fmt.Sprintf(`document.querySelector("#way").textContent.includes(%q)`, written))
	}
	b.prefers("prefers-reduced-motion", "reduce")
	eval[bool](b, `(moved.length = 0, true)`) // the services' own checks commit, too
	rise(`{client_order: 1e9}`, "1,000,000,000")
	if lasts := eval[string](b, `getComputedStyle(document.body).transitionDuration`); lasts != "0s" {
		t.Errorf("with motion reduced, a transition takes %s", lasts)
	}
	if moved := eval[string](b, `moved.join()`); moved != "" {
		t.Errorf("with motion reduced, dots moved for %q", moved)
	}
	b.prefers("prefers-reduced-motion", "no-preference")
	rise(`{client_order: 1e9, order_redis: 2e9}`, "2,000,000,000")
	b.await(`moved.includes("flags set")`)
	if lasts := eval[string](b, `getComputedStyle(document.body).transitionDuration`); lasts != "5s" {
		t.Errorf("with motion, a transition takes %s", lasts)
	}
	b.clean()
}

// TestHiddenTabIsNotReadFor hides the only page of a console, which then asks the services for nothing until the page
// can be seen again.
func TestHiddenTabIsNotReadFor(t *testing.T) {
	s := theStage(t)
	var reads atomic.Int64
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reads.Add(1) }))
	defer service.Close()
	target := s.target(t)
	target.Watched = []console.Watched{{Kind: "order", URL: service.URL, Ops: service.URL}}
	_, server := watch(t, target)
	d := openDoor(t, server)
	close(d.hold)
	b := open(t, d.entry)
	b.tile("order-1", "ready")
	// Chromium without a window shows every tab: the page must be hidden by a command.
	hidden := func(is bool) {
		t.Helper()
		eval[bool](b, fmt.Sprintf(`Object.defineProperty(document, "hidden", { configurable: true, get: () => %t }), `+
			`document.dispatchEvent(new Event("visibilitychange")), true`, is))
	}
	hidden(true)
	b.await(`document.querySelector(".bar .status.asleep")`)
	select {
	case <-d.ended:
	case <-time.After(console.Patience):
		t.Fatal("a hidden page keeps its stream")
	}
	time.Sleep(3 * time.Second) // a read may have begun before, and takes no longer
	before := reads.Load()
	time.Sleep(3 * time.Second) // longer than two reads are apart
	if n := reads.Load() - before; n > 0 {
		t.Errorf("%d reads for a page that nobody sees", n)
	}
	hidden(false)
	b.await(`document.querySelector(".bar .status.open")`)
	console.Await(t, func() bool { return reads.Load() > before }, func() string {
		return "no read for a page that can be seen again"
	})
	b.clean()
}
