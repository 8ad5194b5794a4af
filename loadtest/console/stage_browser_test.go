//go:build browser

package console_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"orderstock/loadtest/lanes"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/verify"
)

// recorded is a run of a fault as its page has it.
type recorded struct {
	Sentence string
	Scene    *lanes.Scene // nil if it has none
}

// recordedRuns reads the recorded runs of both sides from the page of a fault.
func recordedRuns(t *testing.T, f tables.Fault) map[tables.Side]recorded {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", f.PageFile()))
	if err != nil {
		t.Fatal(err)
	}
	played := tables.Played(string(page))
	all := map[tables.Side]recorded{}
	for part := range strings.SplitSeq(played, "\n**") {
		name, rest, ok := strings.Cut(part, ": ")
		if !ok || !strings.Contains(rest, ".**") {
			continue
		}
		sentence, rest, _ := strings.Cut(rest, ".**")
		all[tables.Side(strings.ToLower(name))] = recorded{sentence, sceneIn(rest)}
	}
	if len(all) < 2 {
		t.Fatalf("%s: no recorded runs of both sides: %v", f.Letter, all)
	}
	return all
}

// sceneIn reads a scene from its Markdown.
func sceneIn(text string) *lanes.Scene {
	s := &lanes.Scene{}
	for i, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }) {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		switch books, isBooks := strings.CutPrefix(line, "Books: "); {
		case isBooks:
			s.Books = strings.TrimSuffix(books, ".")
		case i == 0:
			for _, head := range cells[1:] {
				process, order, _ := strings.Cut(strings.TrimSpace(head), ", ")
				s.Lanes = append(s.Lanes, lanes.Lane{Process: process, Order: order})
			}
		case i > 1 && len(cells) > 2:
			s.Steps = append(s.Steps, stepIn(cells))
		}
	}
	if len(s.Steps) == 0 {
		return nil
	}
	return s
}

// stepIn reads a step from the cells of its row, and gives it about the weight that it had.
func stepIn(cells []string) lanes.Step {
	step := lanes.Step{To: -1, Weight: 4}
	unit := ""
	_, _ = fmt.Sscan(cells[0], &step.AtMS, &unit)
	if unit == "s" {
		step.AtMS *= 1000
	}
	for i, cell := range cells[1:] {
		if cell = strings.TrimSpace(cell); cell == "" {
			continue
		}
		step.Lane = i
		lines := strings.Split(cell, "<br>")
		step.Text = strings.TrimSuffix(lines[0], " ──►")
		if step.Text != lines[0] {
			step.To = i + 1
		}
		for _, more := range lines[1:] {
			sign, words, _ := strings.Cut(more, " ")
			switch sign {
			case "✗":
				step.Wrong = words
			case "✓":
				step.Right = words
			case "‖":
				step.Held = words
			}
		}
	}
	switch {
	case step.Wrong+step.Right != "":
		step.Weight = 9
	case step.Text == "dies":
		step.Weight = 8
	case step.Held != "":
		step.Weight = 3
	case strings.HasPrefix(step.Text, "answers:") || strings.HasPrefix(step.Text, "asks for"):
		step.Weight = 1
	}
	return step
}

// kept is the record of a recorded run, as GET /api/runs/{id} answers it, and its row.
func (r recorded) kept(t *testing.T, f tables.Fault, side tables.Side) (record, row string) {
	t.Helper()
	of := tables.Record{Scene: r.Scene, Run: tables.Run{
		ID: f.Letter + string(side), Fault: f.Letter, Variant: side, Sentence: r.Sentence, Verdict: verify.Pass,
		OrdersPerS: 12.5,
	}}
	if side == tables.Broken && f.Rate == "" {
		of.Run.Verdict = verify.Violation
	}
	rows := []tables.BookRow{{Name: "product 1", In: 300, There: 37}}
	of.Books = tables.Books{Sold: 1198, Stock: 300, There: 37, Rows: rows}
	var texts [2]string
	for i, value := range []any{of, of.Run} {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(data)
	}
	return texts[0], texts[1]
}

// openRecorded opens the stage in a language, with the recorded runs of all faults as if they were played there.
func openRecorded(t *testing.T, language string) *still {
	t.Helper()
	answers := map[string]string{"/api/faults": publishedFaults(t), "/api/play": "{}"}
	var rows []string
	for _, f := range tables.Published {
		for side, run := range recordedRuns(t, f) {
			record, row := run.kept(t, f, side)
			answers["/api/runs/"+f.Letter+string(side)] = record
			rows = append(rows, row)
		}
	}
	s := openIn(t, language, "?stage", "", answers)
	s.await(`page.published.value`)
	eval[bool](s.browser, `page.state.runs.value = [`+strings.Join(rows, ",")+`], true`)
	return s
}

// cutOff names the elements of the stage that do not fit into the window or their places.
const cutOff = `[...document.querySelectorAll("main, main *")].filter((e) => !e.closest(".hidden"))` +
	`.map((e) => [e, e.getBoundingClientRect()]).filter(([e, box]) => box.bottom > innerHeight + 0.5 || ` +
	`box.right > innerWidth + 0.5 || e.matches(".fitted") && e.scrollHeight > e.clientHeight)` +
	`.map(([e]) => e.localName + "." + e.className).join()`

// TestStage: in both languages, both sides of every fault stand side by side in a window of 1280 by 720 px, with the
// marked steps, large enough for the last row, and nothing needs to be scrolled. It plays the stage 17 times for each.
func TestStage(t *testing.T) {
	for _, language := range []string{"en-US", "zh-CN"} {
		t.Run(language, func(t *testing.T) {
			s := openRecorded(t, language)
			s.do(chromedp.EmulateViewport(1280, 720))
			s.withAxe()
			for i, f := range tables.Published {
				if i > 0 {
					s.do(chromedp.KeyEvent(kb.ArrowRight))
				}
				s.await(fmt.Sprintf(`document.querySelector(".on-stage .letter")?.innerText === %q && `+
					`document.querySelectorAll(".side h2 b").length >= 2`, f.Letter))
				runs := recordedRuns(t, f)
				for i, side := range []tables.Side{tables.Broken, tables.Fixed} {
					s.showsSide(f, runs[side], fmt.Sprintf(".side:nth-child(%d)", i+1))
				}
				if eval[bool](s.browser, `!!document.querySelector(".side:first-child .verdict.good")`) {
					t.Errorf("%s: the broken side looks right: %s", f.Letter, s.text(".side:first-child h2"))
				}
				if f.Letter == "A" && language == "en-US" &&
					!s.says(".side:first-child .happened", "gives the lock back →") {
					t.Errorf("the stage leaves out that the lock is given back: %s", s.text(".side:first-child"))
				}
				if f.Letter == "C" && language == "en-US" && !s.says(".side:first-child .happened", "dies") {
					t.Errorf("the stage leaves out that a process dies: %s", s.text(".side:first-child"))
				}
				if out := eval[string](s.browser, cutOff); out != "" {
					t.Errorf("%s: cut off: %s", f.Letter, out)
				}
				if eval[int](s.browser, `document.scrollingElement.scrollHeight`) > 720 {
					t.Errorf("%s: the stage scrolls", f.Letter)
				}
				if left := eval[string](s.browser, english); language == "zh-CN" && left != "" {
					t.Errorf("%s: not Chinese:\n%s", f.Letter, left)
				}
				s.picture("stage-"+f.Letter+"-"+language, 1280, 720, false)
			}
			for _, theme := range []string{"light", "dark"} {
				s.prefers("prefers-color-scheme", theme)
				s.picture("stage-"+theme, 1280, 720, false)
				s.barred(theme)
			}
			s.clean()
		})
	}
}

// showsSide checks the side of the stage within a selector against the recorded run.
func (s *still) showsSide(f tables.Fault, run recorded, within string) {
	s.t.Helper()
	if lang := eval[string](s.browser, `document.documentElement.lang`); lang == "en" && !s.says(within, run.Sentence) {
		s.t.Errorf("%s: the headline %q is not there: %s", f.Letter, run.Sentence, s.text(within))
	}
	if run.Scene == nil {
		return
	}
	s.await(fmt.Sprintf(`document.querySelector("%s td.step")`, within))
	count := func(selector string) int {
		return eval[int](s.browser, fmt.Sprintf(`document.querySelectorAll("%s %s").length`, within, selector))
	}
	marked := 0
	for _, step := range run.Scene.Steps {
		if step.Wrong+step.Right != "" {
			marked++
		}
	}
	steps := count("td.step")
	if steps < min(4, len(run.Scene.Steps)) || count(":is(.note-wrong, .note-right)") != marked {
		s.t.Errorf("%s: %d steps are shown, want 4 or more and all %d marked ones", f.Letter, steps, marked)
	}
	size := eval[float64](s.browser, fmt.Sprintf(`parseFloat(getComputedStyle(`+
		`document.querySelector("%s .happened .does")).fontSize)`, within))
	if size < 18 && (size < 15 || steps > max(4, marked)) {
		s.t.Errorf("%s: of %d steps, %d marked, the letters are %g px high", f.Letter, steps, marked, size)
	}
}

// TestStageIsPlayedByTwoKeys: B plays the chosen fault broken, F fixed. Runs from before are not shown, and the mistake
// and its fix stand where the lanes will be.
func TestStageIsPlayedByTwoKeys(t *testing.T) {
	s := openStillAt(t, "?stage#fault=E", `"runs": [{"id": "old", "fault": "E", "variant": "broken",
		"sentence": "an old end", "verdict": "VIOLATION"}]`,
		map[string]string{"/api/faults": publishedFaults(t), "/api/play": "{}"})
	s.await(`document.querySelector(".on-stage .letter")?.innerText === "E"`)
	if words := s.text(".on-stage"); strings.Contains(words, "an old end") ||
		!strings.Contains(words, "answer == timeout") || !strings.Contains(words, "leaves the order PENDING") {
		t.Errorf("before it is played, the stage shows %s", words)
	}
	for n, key := range []string{"b", "f"} {
		s.do(chromedp.KeyEvent(key))
		body := s.posted("/api/play", n+1)[n]
		if side := []tables.Side{tables.Broken, tables.Fixed}[n]; body != fmt.Sprintf(`{"fault":"E","variant":%q}`, side) {
			t.Errorf("%s plays %s", key, body)
		}
	}
	eval[bool](s.browser, `page.state.run.value = {id: "new", fault: "E", variant: "fixed"}, `+
		`page.state.hero.value = {sentence: "sold 12 of 300", word: "RUNNING"}, true`)
	s.await(`/sold 12 of 300/i.test(document.querySelector(".side:nth-child(2) h2").innerText)`)
	if !regexp.MustCompile(`\?stage(=.*)?#.*fault=E`).MatchString(eval[string](s.browser, `location.href`)) {
		t.Errorf("the address is %s", eval[string](s.browser, `location.href`))
	}
	s.clean()
}

// TestTourFollowsWhatIsPlayed, whoever plays it; a run that was there before the page is no reason to move.
func TestTourFollowsWhatIsPlayed(t *testing.T) {
	tour, err := json.Marshal(tables.Tour)
	if err != nil {
		t.Fatal(err)
	}
	s := openStillAt(t, "#stop=2", `"run": {"id": "r1", "fault": "F", "variant": "fixed"}`,
		map[string]string{"/api/tour": string(tour)})
	at := func(stop int) {
		t.Helper()
		s.await(fmt.Sprintf(`document.querySelector(".tour .where")?.innerText.includes("%d of %d")`, stop,
			len(tables.Tour)))
	}
	at(2)
	for i, stop := range tables.Tour {
		eval[bool](s.browser, fmt.Sprintf(`page.state.run.value = {id: "n%d", fault: %q, variant: %q}, true`, i, stop.Fault,
			stop.Variant))
		at(stop.Stop)
	}
	eval[bool](s.browser, `page.state.run.value = {id: "own", fault: "", variant: ""}, true`)
	at(len(tables.Tour))
	s.clean()
}
