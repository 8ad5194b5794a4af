//go:build browser

package console_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"orderstock/loadtest/console"
	"orderstock/loadtest/tables"
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
		b.await(waitStill, `document.querySelectorAll("table td").length > 20`)
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
