//go:build browser

package console_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/verify"
)

// fired fires orders and returns the record of "loadtest fire --report".
func (s *stage) fired(t *testing.T) *tables.Record {
	t.Helper()
	h, err := fire.Run(t.Context(), fire.Config{
		Target: s.lab.Target(), Orders: 300, Concurrency: 32, Mix: fire.Mix{Goods: 1, Stock: 100, NumMax: 1, ItemsMax: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := verify.Run(t.Context(), verify.Config{
		Databases: s.lab.Databases(), History: h, Settle: verify.DefaultSettle,
	})
	if err != nil {
		t.Fatal(err)
	}
	record, err := tables.RecordOf(t.Context(), tables.Run{Title: "orders fired"}, h, v, s.lab.Databases())
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// TestReportNeedsNoServer opens the reports of a played run and of fired orders from the disk, with the network and
// scripts off. They show the record and the verdict.
func TestReportNeedsNoServer(t *testing.T) {
	s := theStage(t)
	s.play(t, "A", tables.Fixed)
	var played tables.Record
	kept := send(t, s.server, http.MethodGet, s.url+"/api/runs/"+s.state(t).Run.ID, nil)
	if err := json.NewDecoder(kept.Body).Decode(&played); err != nil {
		t.Fatal(err)
	}
	b := open(t, "about:blank")
	tell(b, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{Offline: true}},
	})
	tell(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	for name, record := range map[string]*tables.Record{"report": &played, "report-fired": s.fired(t)} {
		file := filepath.Join(t.TempDir(), "report.html")
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(record.Sheet().Write(f), f.Close()); err != nil {
			t.Fatal(err)
		}
		v, hold := record.Verdict, 0
		for _, i := range v.Invariants {
			if i.Violations == 0 {
				hold++
			}
		}
		b.do(chromedp.Navigate("file://" + file))
		b.await(`document.querySelector("#report h1")`)
		for _, want := range []string{
			record.Run.Sentence, record.Run.Headline().Word, fmt.Sprint(record.Run.Seed), v.String(),
			fmt.Sprintf("Of %d things that must hold, %d hold", len(v.Invariants), hold),
		} {
			if !b.says("#report", want) {
				t.Errorf("%s: it does not say %q: %s", name, want, b.text("#report"))
			}
		}
		b.picture(name, 1000, 1200, true)
		eval[bool](b, `document.querySelector('.languages [value="zh-CN"]').click(), true`)
		if !b.says("#report", "发生了什么") && name == "report" || b.says("#report", "The verdict") {
			t.Errorf("%s: after the change to Chinese it says %s", name, b.text("#report"))
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		if !strings.HasPrefix(r, "file://") && !strings.HasPrefix(r, "data:") && !strings.HasPrefix(r, "about:") {
			t.Errorf("the report asks for %s", r)
		}
	}
	for _, e := range b.errors {
		t.Errorf("the report's console says: %s", e)
	}
}

// TestReportFollowsTheBrowser: a saved report is in the language of the browser, with a switch to the other one.
func TestReportFollowsTheBrowser(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.html")
	record := tables.Record{Run: tables.Run{Title: "free play", Sentence: "sold 3 of 3", Verdict: verify.Pass}}
	scene, err := os.ReadFile("testdata/scenes/c.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(scene, &record.Scene); err != nil {
		t.Fatal(err)
	}
	if err := record.Sheet().Save(file); err != nil {
		t.Fatal(err)
	}
	for language, want := range map[string][2]string{
		"zh-CN": {"库存 3 件，卖出 3 件", "sold 3 of 3"}, "en-GB": {"sold 3 of 3", "库存 3 件，卖出 3 件"},
		"fr-FR": {"sold 3 of 3", "库存 3 件，卖出 3 件"},
	} {
		b := open(t, "about:blank")
		tell(b, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{
			UserAgent: eval[string](b, "navigator.userAgent"), AcceptLanguage: language,
		})
		b.do(chromedp.Navigate("file://" + file))
		for i, want := range want {
			if i == 1 {
				eval[bool](b, `document.querySelector(".languages input:not(:checked)").click(), true`)
			}
			if shown := eval[[]string](b, visible); len(shown) != 1 || !b.says("#report", want) {
				t.Errorf("in %s, the report says %q, want %q", language, shown, want)
			}
		}
		eval[bool](b, `document.querySelector(".languages input:not(:checked)").click(), true`)
		b.withAxe()
		for _, window := range []int64{390, 768, 1440} {
			where := fmt.Sprintf("report-%s-%d", language, window)
			b.picture(where, window, 900, true)
			b.barred(where)
			if wide := eval[int64](b, `document.documentElement.scrollWidth`); wide > window {
				t.Errorf("%s: it is %d px wide: %s", where, wide, eval[string](b, tooWide))
			}
			const cut = `[...document.querySelectorAll(".scroll")].filter((e) => e.scrollWidth > e.clientWidth)` +
				`.map((e) => e.scrollWidth + " of " + e.clientWidth).join()`
			if wide, words := eval[string](b, cut), eval[string](b, broken); wide+words != "" {
				t.Errorf("%s: tables cut off: %s; words broken in two: %s", where, wide, words)
			}
		}
	}
}

// visible lists the headlines of a report that are to be seen.
const visible = `[...document.querySelectorAll("#report h1")].filter((e) => e.checkVisibility())` +
	`.map((e) => e.innerText)`
