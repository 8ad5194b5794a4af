//go:build browser

package console_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"orderstock/loadtest/tables"
)

// naming has the page name an element.
const naming = `window.named = (e) => {
	const words = e.getAttribute("aria-label") || e.labels?.[0]?.innerText || e.innerText || e.name || "";
	return (e.getAttribute("role") || e.localName) + " " + words.trim().split("\n")[0].trim();
}, true`

// hasFocus names what has the focus: "" if nothing has.
const hasFocus = `document.activeElement === document.body ? "" : named(document.activeElement)`

var shift = chromedp.KeyModifiers(chromedp.ModifierShift)

// tab presses Tab, or Shift+Tab, and returns what has the focus then.
func (b *browser) tab(modifiers ...chromedp.KeyOption) string {
	b.t.Helper()
	b.do(chromedp.KeyEvent(kb.Tab, modifiers...))
	return eval[string](b, hasFocus)
}

// tabTo presses Tab until the focus is on what begins so. It fails if that takes more than a walk around the page.
func (b *browser) tabTo(want string) {
	b.t.Helper()
	var passed []string
	for range 200 {
		now := b.tab()
		if strings.HasPrefix(now, want) {
			return
		}
		passed = append(passed, now)
	}
	b.t.Fatalf("Tab does not lead to %q, but to %q", want, passed)
}

// focused fails the test unless the focus is on what begins so.
func (b *browser) focused(want, when string) {
	b.t.Helper()
	if now := eval[string](b, hasFocus); !strings.HasPrefix(now, want) {
		b.t.Errorf("%s, the focus is on %q, want %q", when, now, want)
	}
}

// ringed reports whether a reader sees on all sides what has the focus, by the pixels that change when the outlines are
// taken away. Of what is as high as the window, left and right count.
func (b *browser) ringed() error {
	b.t.Helper()
	var at []int // left, top, right and bottom of the element, width and height of the window
	if err := json.Unmarshal([]byte(eval[string](b, `(() => {
		const { left, top, right, bottom } = document.activeElement.getBoundingClientRect();
		return JSON.stringify([left, top, right, bottom, innerWidth, innerHeight].map(Math.round));
	})()`)), &at); err != nil {
		b.t.Fatal(err)
	}
	box, window := image.Rect(at[0], at[1], at[2], at[3]), image.Rect(0, 0, at[4], at[5])
	with := b.pixels()
	eval[bool](b, `window.bare ??= new CSSStyleSheet(), bare.replaceSync("* { outline: none !important }"),
		document.adoptedStyleSheets = [bare], true`)
	without := b.pixels()
	eval[bool](b, `document.adoptedStyleSheets = [], true`)
	seen := image.Rectangle{}
	around := box.Inset(-8).Intersect(window)
	for y := around.Min.Y; y < around.Max.Y; y++ {
		for x := around.Min.X; x < around.Max.X; x++ {
			if with.At(x, y) != without.At(x, y) {
				seen = seen.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	want := box.Inset(2) // an outline may lie within
	if box.Dy() > window.Dy()-128 {
		want.Min.Y, want.Max.Y = seen.Min.Y, seen.Max.Y
	}
	if seen.Empty() || !want.In(seen) {
		return fmt.Errorf("it is at %s of %s, and an outline is seen at %s", box, window, seen)
	}
	return nil
}

// pixels is what is seen in the window.
func (b *browser) pixels() image.Image {
	b.t.Helper()
	data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	shot, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		b.t.Fatal(err)
	}
	return shot
}

// full is the state of a console after some runs, in which each part of the page has something to show.
func full(t *testing.T) string {
	t.Helper()
	scene, err := os.ReadFile(filepath.Join("testdata", "scenes", "a.json"))
	if err != nil {
		t.Fatal(err)
	}
	row := func(n int) string {
		return fmt.Sprintf(`{"id": "r%d", "title": "free play", "seed": "1", "verdict": "PASS", "word": "PASS"}`, n)
	}
	rows := make([]string, 3)
	lines := make([]string, 14)
	for i := range rows {
		rows[i] = row(i)
	}
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"at": "2026-01-02T03:04:05Z", "t_ms": %d, "kind": "run", "text": "line %[1]d"}`, i)
	}
	const order = "2124806257778647040"
	return `"run": {"id": "r1", "title": "free play", "seed": "1", "command": "bin/loadtest run --orders 7"},
		"scene": ` + string(scene) + `, "samples": ` + stalled + `,
		"hero": {"sentence": "sold 412 of 300: 112 more than there were", "word": "VIOLATION"},
		"verdict": {"invariants": [{"name": "n", "says": "it holds", "violations": 1, "sample": ["flag ` + order + `"],
			"findings": [{"flag": "` + order + `"}]}]},
		"recent": [{"id": "` + order + `", "status": "CONFIRMED"}],
		"runs": [` + strings.Join(rows, ",") + `], "log": [` + strings.Join(lines, ",") + `]`
}

// openFull opens the page with the published faults, the tour and full.
func openFull(t *testing.T) *still {
	t.Helper()
	tour, err := json.Marshal(tables.Tour)
	if err != nil {
		t.Fatal(err)
	}
	s := openIn(t, "en-US", "", full(t), map[string]string{
		"/api/faults": publishedFaults(t), "/api/tour": string(tour), "/api/play": "{}", "/api/stop": "{}",
		"/api/runs/r0/report": `<body><article class="report" lang="en"><p>a report</p></article></body>`,
	})
	s.await(`document.querySelector("#fault-A") && document.querySelector(".tour") && ` +
		`document.querySelectorAll("#charts canvas").length === 2`)
	eval[bool](s.browser, naming)
	return s
}

// stops lists what Tab is to go to.
const stops = `[...document.querySelectorAll("a, button, input, select, summary, [tabindex='0']")]` +
	`.filter((e) => e.tabIndex >= 0 && e.checkVisibility()).map(named).join("\n")`

// walk goes from the first element on with Tab, past the last one, and back with Shift+Tab. It looks at the outlines on
// one of the ways: that takes two pictures for each.
func (s *still) walk(when, first string, looksBack bool) {
	s.t.Helper()
	want := strings.Split(eval[string](s.browser, stops), "\n")
	seen := func(now string, looks bool) {
		s.t.Helper()
		if !looks {
			return
		}
		if err := s.ringed(); err != nil {
			s.t.Errorf("%s: %s: %v", when, now, err)
		}
	}
	var there, back []string
	for now := first; now != "" && len(there) <= len(want); now = s.tab() {
		there = append(there, now)
		seen(now, !looksBack)
	}
	for len(back) < len(there) {
		now := s.tab(shift)
		back = append(back, now)
		seen(now, looksBack)
	}
	slices.Reverse(back)
	if !slices.Equal(there, want) {
		s.t.Errorf("%s: Tab goes to\n%q, want\n%q", when, there, want)
	}
	if !slices.Equal(back, there) {
		s.t.Errorf("%s: Shift+Tab comes from\n%q, want\n%q", when, back, there)
	}
}

// TestKeyboardReachesEverything: Tab goes through all of the page in the order of its elements and out of it, Shift+Tab
// goes the same way back, and each stop has an outline that is seen on all sides. It takes a minute for its pictures.
func TestKeyboardReachesEverything(t *testing.T) {
	for _, window := range []struct {
		wide, high int64
		theme      string
		looksBack  bool // to where the bar is before the page
	}{{1440, 900, "light", false}, {390, 800, "dark", true}} {
		t.Run(fmt.Sprint(window.wide), func(t *testing.T) {
			s := openFull(t)
			s.prefers("prefers-color-scheme", window.theme, "prefers-reduced-motion", "reduce")
			s.do(chromedp.EmulateViewport(window.wide, window.high))
			first := s.tab()
			s.walk("the faults", first, window.looksBack)
			s.tabTo("tab Published faults")
			s.do(chromedp.KeyEvent(kb.ArrowRight))
			s.focused("tab Free play", "after →")
			for s.tab(shift) != first {
			}
			s.walk("free play", first, window.looksBack)
			s.clean()
		})
	}
}

// key presses a key.
func (b *browser) key(key string) { b.t.Helper(); b.do(chromedp.KeyEvent(key)) }

// TestPlayedByKeyboard goes from the page's load to a played fault, its recorded run and the other language with Tab,
// Enter, Space and Escape alone. What has been pressed keeps the focus, and what goes away leaves it in its place.
func TestPlayedByKeyboard(t *testing.T) {
	s := openFull(t)
	s.prefers("prefers-reduced-motion", "reduce")
	s.focused("", "at first")
	s.tabTo("tab Published faults")
	s.tabTo("button E")
	s.key(kb.Enter)
	s.await(`document.querySelector("#fault-E")`)
	s.focused("button E", "after its fault was opened")
	for _, want := range []string{"pre The published idea", "button Broken"} {
		s.tab()
		s.focused(want, "after Tab")
	}
	s.key(" ")
	if body := s.posted("/api/play", 1)[0]; body != `{"fault":"E","variant":"broken"}` {
		t.Errorf("Space on Broken played %s", body)
	}
	for _, phase := range []string{"firing", "idle"} {
		eval[bool](s.browser, fmt.Sprintf(`page.state.run.value = {id: "new", fault: "E", variant: "broken"}, `+
			`page.state.phase.value = %q, page.state.edges.value = {client_order: %[1]q.length}, true`, phase))
		s.await(fmt.Sprintf(`document.querySelector(".bar .dot.%s")`, phase))
		s.focused("button Broken", "while the console is "+phase)
		if n := eval[int](s.browser, `document.getAnimations().length`); n > 0 {
			t.Errorf("%d things move, though the reader prefers that nothing does", n)
		}
	}
	s.tab()
	s.focused("button Fixed", "after Broken")
	s.key(kb.Enter)
	if body := s.posted("/api/play", 2)[1]; body != `{"fault":"E","variant":"fixed"}` {
		t.Errorf("Enter on Fixed played %s", body)
	}
	s.tab()
	s.focused("button As it runs here", "after Fixed")
	s.tab()
	s.focused("a A recorded run of both", "after As it runs here")
	s.tab()
	s.focused("summary Code and tests", "after the link")
	s.key(kb.Enter)
	s.await(`document.querySelector("#fault-E details").open`)

	s.key("?")
	s.await(`document.querySelector("dialog.help").open`)
	s.focused("button Close", "in the dialog")
	for range 4 {
		if in := s.tab(); in != "" && !eval[bool](s.browser, `!!document.activeElement.closest("dialog")`) {
			t.Errorf("Tab leaves the open dialog for %q", in)
		}
	}
	s.key(kb.Escape)
	s.await(`!document.querySelector("dialog.help").open`)
	s.focused("summary Code and tests", "after the dialog")

	s.tabTo("button free play")
	s.key(kb.Enter)
	s.await(`document.querySelector("#runs .sheet")`)
	s.tabTo("button Close this report")
	s.key(kb.Enter)
	s.await(`!document.querySelector("#runs .sheet")`)
	s.focused("button free play", "after its report was closed")

	eval[bool](s.browser, `page.state.phase.value = "firing", true`)
	s.await(`document.querySelector(".press .why button")`)
	s.tabTo("a orderstock")
	s.tabTo("button As it runs here")
	s.tab()
	s.focused("button Stop", "in a run")
	s.key(kb.Enter)
	s.posted("/api/stop", 1)
	eval[bool](s.browser, `page.state.phase.value = "idle", true`)
	s.await(`!document.querySelector(".press .why button")`)
	s.tab()
	s.focused("button ← Previous", "after the run that Stop ended")

	s.tabTo("a A recorded run of both")
	if file := eval[string](s.browser, `document.activeElement.pathname`); file != "/faults/e.md" {
		t.Errorf("the link leads to %s", file)
	}
	s.tabTo("button 中文")
	s.key(" ")
	s.do(chromedp.WaitVisible(`html[lang="zh-CN"] #fault-E`)) // the page is loaded again
	eval[bool](s.browser, naming)
	s.tab()
	s.focused("a orderstock", "in the page that was loaded again")
	s.tabTo("button English")
	s.clean()
}

// TestStageByKeyboard: both sides are pressed by Tab, Enter and Space, too, and their outlines are seen; Escape leaves
// the stage as it is.
func TestStageByKeyboard(t *testing.T) {
	s := openStillAt(t, "?stage#fault=E", "", map[string]string{"/api/faults": publishedFaults(t), "/api/play": "{}"})
	s.do(chromedp.EmulateViewport(1280, 720))
	s.await(`document.querySelector(".on-stage .letter")?.innerText === "E"`)
	eval[bool](s.browser, naming)
	for n, step := range []struct{ name, key string }{{"broken", kb.Enter}, {"fixed", " "}} {
		s.tabTo("button " + strings.ToUpper(step.name[:1]) + step.name[1:])
		if err := s.ringed(); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		s.key(step.key)
		if body := s.posted("/api/play", n+1)[n]; !strings.Contains(body, step.name) {
			t.Errorf("the button of %s plays %s", step.name, body)
		}
		s.key(kb.Escape)
		s.focused("button", "after Escape")
	}
	var passed []string
	for now := s.tab(); now != "" && len(passed) < 20; now = s.tab() {
		passed = append(passed, now)
	}
	if len(passed) == 20 {
		t.Errorf("Tab does not leave the stage: %q", passed)
	}
	s.clean()
}
