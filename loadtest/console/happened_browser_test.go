//go:build browser

package console_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestHappened: what happened stands right under the headline, with a column for each lane, and on a phone with the
// lane's name at each step. Nothing is cut off, at any width, in light and in dark.
func TestHappened(t *testing.T) {
	scenes, err := filepath.Glob("testdata/scenes/*.json")
	if err != nil || len(scenes) == 0 {
		t.Fatal("no scenes", err)
	}
	for _, file := range scenes {
		scene, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			s := openStill(t, `"run": {"id": "r1", "title": "played"}, "scene": `+string(scene)+
				`, "hero": {"sentence": "sold 412 of 300: 112 more than there were", "word": "VIOLATION"}`, nil)
			s.await(`document.querySelector("#happened tbody tr")`)
			const count = `document.querySelectorAll("#happened %s").length`
			steps, lanes := eval[int](s.browser, `page.state.scene.value.steps.length`), eval[int](s.browser,
				`page.state.scene.value.lanes.length`)
			if n := eval[int](s.browser, fmt.Sprintf(count, "td.step")); n != steps {
				t.Errorf("%d steps are shown of %d", n, steps)
			}
			if n := eval[int](s.browser, fmt.Sprintf(count, "thead th")); n != lanes+1 {
				t.Errorf("%d columns for %d lanes", n, lanes)
			}
			if eval[int](s.browser, fmt.Sprintf(count, "tr.bad .note-wrong")) == 0 {
				t.Error("no step is marked as wrong")
			}
			if says := eval[string](s.browser, `page.state.scene.value.says ?? ""`); !s.says("#happened", says) {
				t.Errorf("%q is not shown", says)
			}
			if !eval[bool](s.browser, `document.querySelector(".hero").nextElementSibling.id === "happened"`) {
				t.Error("it does not stand right under the headline")
			}
			s.withAxe()
			for _, theme := range []string{"light", "dark"} {
				s.prefers("prefers-color-scheme", theme)
				for _, width := range []int64{390, 768, 1440} {
					name := fmt.Sprintf("happened-%s-%s-%d", filepath.Base(file), theme, width)
					s.picture(name, width, 900, false)
					if got := eval[int64](s.browser, `document.documentElement.scrollWidth`); got > width {
						t.Errorf("%s: the page is %d px wide", name, got)
					}
					if name := eval[bool](s.browser, `getComputedStyle(document.querySelector("#happened td.step"), "::after")`+
						`.content.includes("stock") || getComputedStyle(document.querySelector("#happened td.step"), "::after")`+
						`.content.includes("buyer")`); name != (width < 760) {
						t.Errorf("%d px wide: a step names its lane: %t", width, name)
					}
					s.barred(name)
				}
			}
			s.do(chromedp.EmulateViewport(1440, 900))
			s.clean()
		})
	}
}
