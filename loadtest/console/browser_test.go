//go:build browser

package console_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"orderstock/loadtest/console"
	"orderstock/loadtest/system"
	"orderstock/loadtest/tables"
	"orderstock/pkg/servers/programs"
)

// browser is a tab of a real Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp's tab is a context

	mu       sync.Mutex
	errors   []string // of the page's console
	requests []string
}

// chromium starts one browser for all tests, which TestMain ends.
var chromium = sync.OnceValues(func() (context.Context, error) {
	program, err := programs.Chromium.Find()
	if err != nil {
		return nil, err
	}
	allocated, _ := chromedp.NewExecAllocator(context.Background(), // ends with the browser
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.Headless, chromedp.DisableGPU,
		chromedp.WindowSize(1440, 1000), chromedp.WSURLReadTimeout(console.Patience))
	var ctx context.Context
	ctx, endChromium = chromedp.NewContext(allocated)
	return ctx, chromedp.Do(ctx)
})

var endChromium = func() {}

// open opens a tab at an address, with cookies and storage of its own.
func open(t *testing.T, address string) *browser {
	t.Helper()
	parent, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(parent, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx}
	b.do(chromedp.Navigate("about:blank"))
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(address))
	return b
}

func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			b.errors = append(b.errors, fmt.Sprint(e.Args))
		}
	case *runtime.EventExceptionThrown:
		b.errors = append(b.errors, e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			b.errors = append(b.errors, e.Entry.Text+" "+e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// eval returns the value of a JavaScript expression.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// await waits until a JavaScript expression is true.
func (b *browser) await(expression string) {
	b.t.Helper()
	console.Await(b.t, func() bool { return eval[bool](b, "!!("+expression+")") }, func() string {
		b.mu.Lock()
		defer b.mu.Unlock()
		return fmt.Sprintf("not true: %s\nthe page's console says %q", expression, b.errors)
	})
}

// text returns the text of an element.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
}

// clean fails the test if the page logged an error or asked another machine for anything.
func (b *browser) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.errors {
		b.t.Errorf("the page's console says: %s", e)
	}
	for _, r := range b.requests {
		u, err := url.Parse(r)
		if err != nil || u.Scheme == "http" && u.Hostname() != "127.0.0.1" || u.Scheme == "https" {
			b.t.Errorf("the page asks for %s", r)
		}
	}
	if len(b.requests) == 0 {
		b.t.Error("no request was seen")
	}
}

// picture keeps a screenshot of the page in out/console, and returns it.
func (b *browser) picture(name string, width, height int64, whole bool) []byte {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
	time.Sleep(300 * time.Millisecond) // the page lays itself out
	shoot := chromedp.CaptureScreenshot()
	if whole {
		shoot = chromedp.FullScreenshot(100)
	}
	data, err := chromedp.Run(b.ctx, shoot)
	if err != nil {
		b.t.Fatal(err)
	}
	keep(b.t, name+".png", data)
	return data
}

// keep writes a file of the folder out/console.
func keep(t *testing.T, name string, data []byte) {
	t.Helper()
	root, err := system.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "out", "console")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// pictureForReadme keeps the picture of the stage for the README, and what it shows. "make readme" puts both in their
// places.
func (b *browser) pictureForReadme() {
	b.t.Helper()
	sum := sha256.Sum256(b.picture("console", 1280, 720, false))
	says := fmt.Sprintf("Broken: %s. Fixed: %s",
		b.text(".side:first-child .sentence"), b.text(".side:last-child .sentence"))
	data, err := json.MarshalIndent(taken{Says: says, Shows: looks(b.t), Picture: hex.EncodeToString(sum[:])}, "", "  ")
	if err != nil {
		b.t.Fatal(err)
	}
	keep(b.t, "console.json", append(data, '\n'))
}

// tell sends the browser a command of the DevTools protocol.
func tell[P, R any](b *browser, command cdp.Command[P, R], params P) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, command, params)
		return err
	}))
}

// prefers sets the preferences of the browser's user to names of CSS media features, each with its value.
func (b *browser) prefers(features ...string) {
	b.t.Helper()
	var all []*emulation.MediaFeature
	for of := range slices.Chunk(features, 2) {
		all = append(all, &emulation.MediaFeature{Name: of[0], Value: of[1]})
	}
	tell(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: all})
}

// idle waits until the page can start a run.
func (b *browser) idle() {
	b.t.Helper()
	b.await(`document.querySelector(".bar .dot.idle") && document.querySelector(".tour") && ` +
		`document.querySelector(".faults li, .free")`)
}

// tile waits until a replica is shown in a state.
func (b *browser) tile(name, state string) {
	b.t.Helper()
	b.await(fmt.Sprintf("document.querySelector('#way .tile[aria-label^=%q]')", name+" "+state))
}

// press presses the button with that text within an element.
func (b *browser) press(within, text string) {
	b.t.Helper()
	button := fmt.Sprintf(`[...document.querySelectorAll(%q + " button")].find((e) => `+
		`e.innerText.startsWith(%q) && e.ariaDisabled !== "true")`, within, text)
	b.await(button)
	eval[bool](b, button+".click(), true")
}

// starts does something that starts a run, and returns the run.
func (b *browser) starts(s *stage, do func()) tables.Run {
	b.t.Helper()
	before := s.state(b.t).Run.ID
	do()
	return s.until(b.t, func(now shown) bool { return now.Run.ID != before }).Run
}

// says reports whether an element shows a text, ignoring case.
func (b *browser) says(selector, text string) bool {
	b.t.Helper()
	return strings.Contains(strings.ToLower(b.text(selector)), strings.ToLower(text))
}
