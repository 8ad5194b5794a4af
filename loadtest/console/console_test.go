//go:build browser

package console_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"orderstock/loadtest/console"
	"orderstock/loadtest/verify"
)

func TestBrokenTurnsRedAndFixedPasses(t *testing.T) {
	s := theStage(t)
	b := open(t, s.entry())
	b.await(30*time.Second, `document.querySelectorAll("[data-letter], .fault, .faults li").length >= 17`)
	b.await(30*time.Second, `document.body.innerText.includes("stock-2")`)
	b.picture("idle", 1440, 1000, false)

	broken := s.play(t, "A", console.Broken)
	if broken.Outcome != verify.Violation {
		t.Errorf("broken: %s", broken)
	}
	b.await(10*time.Second, `document.querySelector(".hero")?.innerText.includes("VIOLATION")`)
	b.await(10*time.Second, `document.querySelector("#books").innerText.includes("but")`)
	b.picture("broken", 1440, 1000, false)
	b.picture("broken-whole", 1440, 1000, true)
	b.picture("broken-narrow", 320, 800, true)

	fixed := s.play(t, "A", console.Fixed)
	if fixed.Outcome != verify.Pass {
		t.Errorf("fixed: %s", fixed)
	}
	b.await(10*time.Second, `document.querySelector(".hero")?.innerText.includes("PASS")`)
	b.picture("fixed", 1440, 1000, false)
	b.clean()
}

func TestKillAndRestart(t *testing.T) {
	s := theStage(t)
	b := open(t, s.entry())
	if _, err := s.console.Fire(console.Scenario{DurationS: 8, Rate: 100, Concurrency: 64, Goods: 3, Stock: 10_000}); err != nil {
		t.Fatal(err)
	}
	b.await(20*time.Second, `document.querySelectorAll("#charts canvas, .charts canvas").length > 0`)
	time.Sleep(2 * time.Second)
	if _, err := s.console.Act(t.Context(), console.Action{Action: "kill", Target: "stock-1"}); err != nil {
		t.Fatal(err)
	}
	b.await(10*time.Second, `[...document.querySelectorAll("svg text, li, g, div")].some(e => e.innerText === undefined ? /dead/.test(e.textContent) : /dead/.test(e.innerText))`)
	b.picture("killed", 1440, 1000, false)
	time.Sleep(time.Second)
	if _, err := s.console.Act(t.Context(), console.Action{Action: "restart", Target: "stock-1"}); err != nil {
		t.Fatal(err)
	}
	v, err := s.console.Await(t.Context())
	if err != nil || v.Outcome != verify.Pass {
		t.Fatalf("%v, %v", v, err)
	}
	if v.Confirmed < 400 {
		t.Errorf("%d orders confirmed of 800: the others did not go on", v.Confirmed)
	}
	b.clean()
}

// TestPausedHolder pauses a holder until its session has expired: without the token's comparison it writes
// beside the next holder, with it the stale write is refused, on the same seed.
func TestPausedHolder(t *testing.T) {
	s := theStage(t)
	b := open(t, s.entry())
	b.await(30*time.Second, `document.querySelectorAll(".faults li").length === 17`)
	if v := s.play(t, "O", console.Broken); v.Outcome != verify.Violation {
		t.Errorf("without fencing: %s", v)
	}
	b.await(10*time.Second, `document.querySelector(".hero").innerText.includes("VIOLATION")`)
	// What was observed stands at the replica that was paused.
	b.await(10*time.Second, `/arm-pause|pause|stop/.test(document.querySelector("#way .struck").innerText) && /fired 1×/.test(document.querySelector("#way .struck").innerText)`)
	b.picture("paused", 1440, 1000, false)
	if v := s.play(t, "O", console.Fixed); v.Outcome != verify.Pass {
		t.Errorf("with fencing: %s", v)
	}
	b.await(10*time.Second, `document.querySelector(".hero").innerText.includes("PASS")`)
	b.clean()
}

func TestWhoMayAsk(t *testing.T) {
	s := theStage(t)
	token := "Bearer " + s.server.Token()
	for _, test := range []struct {
		name, method, path string
		header             http.Header
		want               int
	}{
		{"no token", "GET", "/api/state", nil, http.StatusUnauthorized},
		{"no token, the page", "GET", "/", nil, http.StatusUnauthorized},
		{"a wrong token", "GET", "/?token=wrong", nil, http.StatusUnauthorized},
		{"the token", "GET", "/?token=" + s.server.Token(), nil, http.StatusSeeOther},
		{"the token as a header", "GET", "/api/state", http.Header{"Authorization": {token}}, http.StatusOK},
		{"another name of this machine", "GET", "/api/state", http.Header{"Authorization": {token}, "Host": {"evil.example"}}, http.StatusMisdirectedRequest},
		{"another site", "POST", "/api/stop", http.Header{"Authorization": {token}, "Origin": {"http://evil.example"}, "Content-Type": {"application/json"}}, http.StatusForbidden},
		{"not JSON", "POST", "/api/stop", http.Header{"Authorization": {token}, "Content-Type": {"text/plain"}}, http.StatusUnsupportedMediaType},
		{"no such run", "GET", "/api/runs/..%2f..%2fetc", http.Header{"Authorization": {token}}, http.StatusNotFound},
		{"no such order", "GET", "/api/orders/x", http.Header{"Authorization": {token}}, http.StatusBadRequest},
	} {
		if got := s.call(t, test.method, test.path, test.header); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
	once := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := once.Get(s.url + "//evil.example/?token=" + s.server.Token())
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if to := resp.Header.Get("Location"); to != "/evil.example/" {
		t.Errorf("the token opens %q", to)
	}
}

// TestStalledPageSlowsNobody keeps a stream open without reading it while a run goes on.
func TestStalledPageSlowsNobody(t *testing.T) {
	s := theStage(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + s.server.Token() + "\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("%q, %v", line, err)
	}
	b := open(t, s.entry())
	if _, err := s.console.Fire(console.Scenario{DurationS: 2, Rate: 100, Concurrency: 32}); err != nil {
		t.Fatal(err)
	}
	if v, err := s.console.Await(t.Context()); err != nil || v.Outcome != verify.Pass {
		t.Fatalf("%v, %v", v, err)
	}
	b.await(5*time.Second, `document.querySelector(".hero")?.innerText.includes("PASS")`)
	// A run of two seconds has its charts: a sample for each 250 ms.
	if n := eval[int](b, `document.querySelectorAll("#charts canvas, .charts canvas").length`); n < 2 {
		t.Errorf("%d charts after a run of 2 s, want 2", n)
	}
	b.clean()
}

// TestReportNeedsNoServer opens the report of a run from the disk, with the network off.
func TestReportNeedsNoServer(t *testing.T) {
	s := theStage(t)
	v := s.play(t, "A", console.Fixed)
	entries, err := os.ReadDir(filepath.Join(s.out, "runs"))
	if err != nil || len(entries) == 0 {
		t.Fatalf("%v, %v", entries, err)
	}
	record, err := s.console.Record(entries[len(entries)-1].Name())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := console.WriteReport(f, record); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b := open(t, "file://"+file)
	b.await(10*time.Second, `document.querySelector("#report h1")`)
	b.picture("report", 1000, 1200, true)
	if !b.says("#report", string(v.Outcome)) {
		t.Errorf("the report does not say %s: %s", v.Outcome, b.text("#report"))
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

// TestTourByKeyboard goes through the six stops forth and back.
func TestTourByKeyboard(t *testing.T) {
	b := open(t, theStage(t).entry())
	at := func(stop int) {
		b.await(10*time.Second, fmt.Sprintf(`document.querySelector(".tour")?.innerText?.includes("%d of 6")`, stop))
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
