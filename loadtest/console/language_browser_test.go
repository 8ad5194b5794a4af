//go:build browser

package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"orderstock/loadtest/tables"
	"orderstock/loadtest/texts"
)

// openIn opens the page in a browser of that language.
func openIn(t *testing.T, language, query, state string, answers map[string]string) *still {
	t.Helper()
	return openStillWith(t, query, state, answers, func(b *browser) {
		tell(b, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{
			UserAgent: eval[string](b, "navigator.userAgent"), AcceptLanguage: language,
		})
	})
}

// english lists the words of a page that are English, though they are neither code nor names.
var english = fmt.Sprintf(`(() => {
	const names = new Set(%q.split(" "));
	const found = [];
	const walker = document.createTreeWalker(document.querySelector("#app"), NodeFilter.SHOW_TEXT);
	while (walker.nextNode()) {
		const node = walker.currentNode;
		if (node.parentElement.closest("code, kbd, option, .changes small, #judged small, .mark")) continue;
		const text = node.textContent;
		if (node.parentElement.closest(".idea") && !/\/\//.test(text)) continue;
		for (const word of text.match(/%s/g) || []) if (!names.has(word)) found.push(word + " in: " + text.trim());
	}
	return [...new Set(found)].join("\n");
})()`, names, latinWord)

// inChinese is the state of a console after a run that sold too many.
const inChinese = `
	"run": {"id": "r1", "title": "free play", "buyers": 800, "stock": 300, "goods": 1, "seed": "42"},
	"hero": {"sentence": "sold 412 of 300: 112 more than there were", "word": "VIOLATION"},
	"verdict": {"invariants": [{"name": "settled", "violations": 2, "sample": ["evidence"],
		"says": "no order is still PENDING or CANCELLING after the time to settle"}]},
	"books": {"heard": true, "sold": 412, "stock": 300, "wrong": "", "rows": [{"goods": "1", "name": "product 1",
		"in": 300, "out": 412, "back": 0, "there": 0, "told": 412,
		"wrong": "300 in, 412 out, 0 back make -112, but 0 are there"}]},
	"samples": [{"t_ms": 250, "orders_per_s": 80, "confirmed_per_s": 80, "p50_ms": 4, "p99_ms": 90}]`

// TestChinese: in a browser that speaks Chinese, the page is Chinese: its own words, the faults, the lanes of all
// recorded runs and their sentences. A choice is kept.
func TestChinese(t *testing.T) {
	tour, err := json.Marshal(tables.Tour)
	if err != nil {
		t.Fatal(err)
	}
	s := openIn(t, "zh-CN", "", inChinese, map[string]string{"/api/faults": publishedFaults(t), "/api/tour": string(tour)})
	s.await(`document.querySelector("#fault-A") && document.querySelector(".tour")`)
	if lang := eval[string](s.browser, `document.documentElement.lang`); lang != "zh-CN" {
		t.Errorf("the document is in %q", lang)
	}
	for _, want := range []string{"库存 300 件，卖出 412 件：超卖 112 件", "违规", "提交之前就释放了锁", "丢失更新"} {
		if !s.says("#app", want) {
			t.Errorf("the page does not say %s", want)
		}
	}
	s.withAxe()
	eval[bool](s.browser, `import("./js/text.js").then((module) => { window.say = module.say; }), true`)
	s.await(`window.say`)
	for _, f := range tables.Published {
		eval[bool](s.browser, fmt.Sprintf(`page.choose(%q), true`, f.Letter))
		s.await(fmt.Sprintf(`document.querySelector("#fault-%s")`, f.Letter))
		link := eval[string](s.browser, fmt.Sprintf(`document.querySelector("#fault-%s .page-of a").pathname`, f.Letter))
		if link != "/faults/"+strings.ToLower(f.Letter)+".zh-CN.md" {
			t.Errorf("%s: the page links %s", f.Letter, link)
		}
		for side, run := range recordedRuns(t, f) {
			if run.Scene == nil {
				continue
			}
			scene, err := json.Marshal(run.Scene)
			if err != nil {
				t.Fatal(err)
			}
			eval[bool](s.browser, fmt.Sprintf(`page.state.scene.value = %s, `+
				`page.state.hero.value = {sentence: %q, word: "PASS"}, true`, scene, run.Sentence))
			s.await(fmt.Sprintf(`document.querySelectorAll("#happened td.step").length === %d`,
				len(run.Scene.Steps)))
			for _, text := range run.texts() {
				if got, want := eval[string](s.browser, fmt.Sprintf(`say(%q)`, text)), texts.Chinese().Say(text); got != want {
					t.Errorf("%s, %s: the page says %q for %q, and the documents %q", f.Letter, side, got, text, want)
				}
			}
			if left := eval[string](s.browser, english); left != "" {
				t.Errorf("%s, %s: not Chinese:\n%s", f.Letter, side, left)
			}
		}
	}
	eval[bool](s.browser, `page.choose("A"), true`)
	for _, window := range []int64{390, 768, 1440} {
		s.picture(fmt.Sprintf("chinese-%d", window), window, 900, true)
		s.barred(fmt.Sprint(window))
		if wide := eval[int64](s.browser, `document.documentElement.scrollWidth`); wide > window {
			t.Errorf("the page is %d px wide in a window of %d: %s", wide, window, eval[string](s.browser, tooWide))
		}
	}
	eval[bool](s.browser, `document.querySelector("#tab-free").click(), true`)
	s.await(`document.querySelector(".free")`)
	s.picture("chinese-free", 1440, 900, true)
	s.press(".bar", "English")
	s.do(chromedp.WaitVisible(`html[lang="en"] .hero`)) // the page is loaded again
	s.await(`document.documentElement.lang === "en" && document.querySelector(".hero")`)
	if words := s.text("#app"); strings.Contains(words, "订单") {
		t.Errorf("after the change to English, the page says %s", words)
	}
	s.do(chromedp.Navigate(eval[string](s.browser, `location.href`)))
	s.await(`document.documentElement.lang === "en" && document.querySelector(".hero")`)
	s.clean()
}

// texts returns all texts of a run.
func (r recorded) texts() []string {
	all := []string{r.Sentence, r.Scene.Books}
	for _, l := range r.Scene.Lanes {
		all = append(all, l.Process, l.Order)
	}
	for _, step := range r.Scene.Steps {
		all = append(all, step.Text, step.Held, step.Wrong, step.Right)
	}
	return all
}

// TestOtherLanguagesAreEnglish: in a browser whose language the page does not speak, it is English.
func TestOtherLanguagesAreEnglish(t *testing.T) {
	s := openIn(t, "fr-FR", "", "", nil)
	if lang := eval[string](s.browser, `document.documentElement.lang`); lang != "en" || !s.says(".bar", "中文") {
		t.Errorf("the document is in %q: %s", lang, s.text(".bar"))
	}
	s.clean()
}
