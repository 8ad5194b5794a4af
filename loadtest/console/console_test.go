//go:build browser

package console_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/verify"
)

// TestBrokenTurnsRedAndFixedPasses presses both buttons of fault A.
func TestBrokenTurnsRedAndFixedPasses(t *testing.T) {
	s := theStage(t)
	slide := open(t, s.entry()+"&stage")
	b := open(t, s.entry())
	b.idle()
	b.tile("stock-2", "ready")
	b.picture("idle", 1440, 1000, false)

	b.starts(s, func() { b.press("#fault-A", "Broken") })
	if v, err := s.verdict(t); err != nil || v.Outcome != verify.Violation {
		t.Errorf("broken: %s, %v", v, err)
	}
	broken := s.state(t).Run // the last attempt
	b.await(`document.querySelector(".hero").innerText.includes("VIOLATION")`)
	b.await(`document.querySelector("#books tr.bad")`)
	b.await(`document.querySelector("#happened tr.bad")`)
	b.picture("broken-whole", 1440, 1000, true)
	b.picture("broken-narrow", 320, 800, true)
	b.do(chromedp.EmulateViewport(1440, 1000))

	b.idle()
	fixed := b.starts(s, func() { b.press("#fault-A", "Fixed") })
	if fixed.Fault != "A" || fixed.Variant != tables.Fixed || fixed.Seed != broken.Seed {
		t.Errorf("fixed is fault %s, %s, with seed %d; want the seed of broken, %d",
			fixed.Fault, fixed.Variant, fixed.Seed, broken.Seed)
	}
	if v, err := s.verdict(t); err != nil || v.Outcome != verify.Pass {
		t.Errorf("fixed: %s, %v", v, err)
	}
	b.await(`document.querySelector(".hero").innerText.includes("PASS") && ` +
		`!document.querySelector("#books tr.bad") && !document.querySelector("#happened tr.bad")`)
	b.picture("fixed", 1440, 1000, false)
	b.clean()

	slide.await(`document.querySelectorAll(".side .happened").length === 2 && ` +
		`document.querySelector(".side .bad") && document.querySelector(".side:last-child .verdict.good")`)
	slide.pictureForReadme()
	slide.clean()
}

// endless is a sale under free play that ends when it is stopped.
const endless = "#orders=0&duration_s=300&rate=50&concurrency=32&stock=10000"

// stopped presses Stop and returns the verdict.
func (b *browser) stopped(s *stage) (*verify.Verdict, error) {
	b.t.Helper()
	b.press(".bar", "Stop")
	defer b.idle()
	return s.verdict(b.t)
}

// TestKillAndRestart kills, restarts, pauses and heals a replica by the buttons of free play.
func TestKillAndRestart(t *testing.T) {
	s := theStage(t)
	b := open(t, s.entry()+endless)
	b.idle()
	b.starts(s, func() { b.press(".free", "Fire") })
	// goesOn waits until orders that were sent from now on are confirmed.
	goesOn := func() {
		t.Helper()
		from := tables.Millis(0)
		if all := s.state(t).Samples; len(all) > 0 {
			from = all[len(all)-1].TMS + 1000
		}
		b.await(fmt.Sprintf(
			`page.state.samples.value.some((one) => one.t_ms > %d && one.confirmed_per_s > 0)`, from))
	}
	eval[bool](b, `import("./js/state.js").then((module) => { window.page = module; }), true`)
	b.await(`window.page && document.querySelectorAll("#charts canvas").length === 2`)
	goesOn()
	b.press(".free", "Kill")
	b.tile("stock-1", "dead")
	goesOn()
	b.picture("killed", 1440, 1000, false)
	b.press(".free", "Restart")
	b.tile("stock-1", "ready")
	b.press(".free", "Pause")
	b.tile("stock-1", "paused")
	goesOn()
	b.press(".bar", "Heal all")
	b.tile("stock-1", "ready")
	goesOn()
	b.await(`/kill stock-1'/.test(document.querySelector(".hero .command").innerText)`)
	if v, err := b.stopped(s); err != nil || v.Outcome != verify.Pass {
		t.Errorf("%v, %v", v, err)
	}
	b.await(`document.querySelector(".hero").innerText.includes("PASS")`)
	command := b.text(".hero .command")
	want := regexp.MustCompile(`--break '\S+s kill stock-1'\s+--break '\S+s restart stock-1'\s+` +
		`--break '\S+s pause stock-1 for \S+s'`)
	if !want.MatchString(command) {
		t.Errorf("the command leaves out what was broken by hand: %s", command)
	}
	b.clean()
}

// TestKeys presses the keys of the buttons.
func TestKeys(t *testing.T) {
	s := theStage(t)
	b := open(t, s.entry()+endless)
	key := func(k string) { b.t.Helper(); b.do(chromedp.KeyEvent(k)) }
	b.idle()
	fired := b.starts(s, func() { key("f") })
	b.await(`document.querySelector(".bar .dot.firing")`)
	for _, step := range []struct{ key, state string }{{"k", "dead"}, {"r", "ready"}, {"p", "paused"}, {"p", "ready"}} {
		key(step.key)
		b.tile("stock-1", step.state)
	}
	if _, err := b.stopped(s); err != nil {
		t.Error(err)
	}

	// Neither in the dialog nor when they are switched off do letters do anything; arrows do.
	stop := 1
	deaf := func(when string) {
		t.Helper()
		at := func() {
			t.Helper()
			b.await(fmt.Sprintf(`document.querySelector(".tour")?.innerText.includes("%d of 6")`, stop))
		}
		at() // the page hears the key only now
		key("b")
		key(kb.ArrowRight)
		stop++
		at()
		time.Sleep(500 * time.Millisecond) // a run that B asked for would begin
		if run := s.state(t).Run; run.ID != fired.ID {
			t.Fatalf("%s, B started a run", when)
		}
	}
	closed := func() {
		t.Helper()
		b.press("dialog.help", "Close")
		b.await(`!document.querySelector("dialog.help").open`)
	}
	key("?")
	b.await(`document.querySelector("dialog.help").open`)
	key("b")
	b.do(chromedp.Click("dialog.help input[name=letters]"))
	closed()
	deaf("with its key switched off")
	b.do(chromedp.Reload())
	b.idle()
	deaf("with its key switched off before the page was loaded again")
	b.do(chromedp.Click(".bar button.keys"), chromedp.Click("dialog.help input[name=letters]"))
	closed()

	broken := b.starts(s, func() { key("b") })
	_, _ = b.stopped(s) // there is nothing to judge yet
	fixed := b.starts(s, func() { key("x") })
	_, _ = b.stopped(s)
	here := b.starts(s, func() { key("h") })
	_, _ = b.stopped(s)
	if broken.Fault != "O" || broken.Variant != tables.Broken || fixed.Variant != tables.Fixed ||
		here.Variant != tables.Here || fixed.Seed != broken.Seed || here.Seed != broken.Seed {
		t.Errorf("B played %+v, X played %+v, H played %+v", broken, fixed, here)
	}
	b.clean()
}

// TestAddress opens links: their settings are offered, and nothing in them reaches a shell.
func TestAddress(t *testing.T) {
	s := theStage(t)
	before := s.state(t).Run.ID
	b := open(t, s.entry()+"#orders=7&goods=2&path=$(id)&strategy=a;id&seed=1'id'"+
		"&fault=kill~stock-1';id;'~~~~5&fault=kill~stock-2~~~~900")
	b.await(`document.querySelector(".free .command") && ` +
		`document.querySelector(".free input[name=orders]")?.value === "7"`)
	if command := b.text(".free .command"); strings.Contains(command, "id") || !strings.Contains(command, "--orders 7") ||
		!strings.Contains(command, "--break '900ms kill stock-2'") {
		t.Errorf("the command is %s", command)
	}
	b.do(chromedp.Click(".mark"))
	b.await(`location.hash.includes("orders=7") && ` +
		`document.querySelector(".free input[name=orders]")?.value === "7"`)

	eval[bool](b, `location.hash = "#fault=E&variant=fixed&stop=4", true`)
	b.await(`document.querySelector(".press").innerText.includes("offers fault E, fixed") && ` +
		`document.querySelector(".tour").innerText.includes("4 of 6")`)
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	b.await(`location.hash === "#fault=F&stop=5"`)
	if run := s.state(t).Run; run.ID != before {
		t.Errorf("a link fired %+v", run)
	}
	b.clean()
}

// TestChartWithARunLaidOver moves the cursor of a chart by the keyboard, over two runs.
func TestChartWithARunLaidOver(t *testing.T) {
	s := theStage(t)
	// A run of five seconds has its charts: a sample for each 250 ms, and a row for each sample in the table. A busy
	// machine may stand still for a while.
	var samples []tables.Sample
	var last tables.Sample
	for n := 1; n <= 2 || (len(samples) < 10 || last.TMS < 4000) && n <= 6; n++ {
		s.fire(t, tables.Custom{
			Load: fire.Config{Duration: 5 * time.Second, Rate: 100, Concurrency: 32, Mix: fire.Mix{Goods: 3}},
		})
		if _, err := s.verdict(t); err != nil {
			t.Fatal(err)
		}
		if samples = s.state(t).Samples; len(samples) > 0 {
			last = samples[len(samples)-1]
		}
	}
	if n := len(samples); n < 10 || last.TMS < 4000 {
		t.Fatalf("%d samples of a run of 5 s, the last after %d ms; want one for each 250 ms", n, last.TMS)
	}
	b := open(t, s.entry())
	b.idle()
	b.press("#charts", "as table")
	b.await(fmt.Sprintf(`document.querySelectorAll("#charts table.series tbody tr").length === %d`,
		len(samples)))
	b.press("#charts", "as table")
	eval[bool](b, `document.querySelectorAll("#runs input[type=checkbox]")[1].click(), true`)
	b.await(`document.querySelector("#charts .line.over-1") && ` +
		`document.querySelectorAll("#charts canvas").length === 2`)
	slider := `document.querySelector("#charts [role=slider]")`
	eval[bool](b, slider+`.focus(), true`)
	for back := 1; back <= 3; back++ {
		b.do(chromedp.KeyEvent(kb.ArrowLeft))
		want := samples[len(samples)-1-back]
		at := fmt.Sprintf("+%.2f s", float64(want.TMS)/1000)
		b.await(fmt.Sprintf(`%s.ariaValueText.startsWith(%q) && %[1]s.ariaValueNow === "%[3]d"`,
			slider, at, len(samples)-1-back))
		b.await(fmt.Sprintf(
			`[...document.querySelectorAll("#charts .legend")].every((e) => e.innerText.includes("at %s"))`, at))
	}
	ended := fmt.Sprintf(`!document.querySelector("#charts").innerText.includes("at +") && `+
		`%s.ariaValueText.startsWith("+%.2f s")`, slider, float64(last.TMS)/1000)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.await(ended)
	b.do(chromedp.KeyEvent(kb.ArrowLeft))
	b.await(`document.querySelector("#charts").innerText.includes("at +")`)
	eval[bool](b, slider+`.blur(), true`)
	b.await(ended)
	b.press("#charts", "as table")
	b.await(`document.querySelectorAll("#charts table.series thead th").length === 6 && ` +
		`document.querySelectorAll("#charts table.series tbody td:nth-child(6):not(:empty)").length > 4`)
	b.clean()
}

// TestPausedHolder pauses a holder until its session has expired: without the token's comparison it writes
// while the next holder does, too; with it the stale write is refused, on the same seed.
func TestPausedHolder(t *testing.T) {
	s := theStage(t)
	b := open(t, s.entry())
	b.await(`document.querySelectorAll(".faults > li").length === 17`)
	if v := s.play(t, "O", tables.Broken); v.Outcome != verify.Violation {
		t.Errorf("without fencing: %s", v)
	}
	b.await(`document.querySelector(".hero").innerText.includes("VIOLATION")`)
	// The observation is shown at the paused replica.
	b.await(`/arm-pause|pause|stop/.test(document.querySelector("#way .struck").innerText) && ` +
		`/fired 1×/.test(document.querySelector("#way .struck").innerText)`)
	b.picture("paused", 1440, 1000, false)
	if v := s.play(t, "O", tables.Fixed); v.Outcome != verify.Pass {
		t.Errorf("with fencing: %s", v)
	}
	b.await(`document.querySelector(".hero").innerText.includes("PASS")`)
	b.clean()
}

// TestTourByKeyboard goes through the six stops, back and forth.
func TestTourByKeyboard(t *testing.T) {
	b := open(t, theStage(t).entry())
	at := func(stop int) {
		b.await(fmt.Sprintf(`document.querySelector(".tour")?.innerText?.includes("%d of 6")`, stop))
	}
	at(1)
	for stop := 2; stop <= 6; stop++ {
		b.do(chromedp.KeyEvent(kb.ArrowRight))
		at(stop)
	}
	for stop := 5; stop >= 1; stop-- {
		b.do(chromedp.KeyEvent(kb.ArrowLeft))
		at(stop)
	}
	b.clean()
}
