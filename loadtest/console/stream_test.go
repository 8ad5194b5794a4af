//go:build browser

package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"orderstock/loadtest/console"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/tables"
)

// door serves a stage's page at another address. It ends streams of the page, and can hold back new ones.
type door struct {
	url     string
	entry   string                  // the address that opens the page
	streams chan context.CancelFunc // ends each stream that was opened
	hold    chan struct{}           // a stream is served for each element, or any once it is closed
	ended   chan struct{}           // has an element for each stream that has ended
}

func openDoor(t *testing.T, server *console.Server) *door {
	t.Helper()
	d := &door{
		streams: make(chan context.CancelFunc, 100), hold: make(chan struct{}, 1), ended: make(chan struct{}, 100),
	}
	d.hold <- struct{}{}
	handler := server.Handler()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/events" {
			select {
			case <-d.hold:
			case <-r.Context().Done():
				return
			}
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			d.streams <- cancel
			defer func() { d.ended <- struct{}{} }()
			r = r.WithContext(ctx)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections) // before
	d.url, d.entry = web.URL, web.URL+"/?token="+server.Token()
	return d
}

// TestPageComesBack ends the stream of a page. The page says so, and once it has a stream again it shows the events
// since, and later ones.
func TestPageComesBack(t *testing.T) {
	s := theStage(t)
	d := openDoor(t, s.server)
	b := open(t, d.entry)
	b.idle()
	eval[bool](b, `import("./js/state.js").then((module) => { window.page = module; }), true`)
	(<-d.streams)()
	b.await(`document.querySelector(".bar .status").innerText.includes("Connection lost")`)

	shows := func(run tables.Run) {
		t.Helper()
		s.passes(t)
		b.await(fmt.Sprintf(`document.querySelector(".bar .dot.idle") && `+
			`page.state.run.value.id === %q && page.state.samples.value.length === %d && `+
			`document.querySelector(".hero").innerText.includes("PASS")`, run.ID, len(s.state(t).Samples)))
	}
	sale := tables.Custom{Load: fire.Config{Duration: time.Second, Rate: 100, Concurrency: 32}}
	missed := s.fire(t, sale)
	s.passes(t)
	if id := eval[string](b, `page.state.run.value?.id ?? ""`); id == missed.ID {
		t.Error("the page without a stream shows the run")
	}
	close(d.hold)
	shows(missed)
	shows(s.fire(t, sale))
	b.clean()
}

// TestPageNoticesAStillConsole: a console that stands still keeps the connection. The page says that its state is old,
// offers nothing, and goes on with the next heartbeat.
func TestPageNoticesAStillConsole(t *testing.T) {
	s := openStill(t, "", nil)
	s.stands.Store(true)
	s.await(`document.querySelector(".bar .status").innerText.includes("does not answer")`)
	if why := eval[string](s.browser, `page.whyNotFire.value`); why != "the console does not answer" {
		t.Errorf("why nothing can be fired: %q", why)
	}
	s.picture("silent", 1280, 300, false)
	s.stands.Store(false)
	s.await(`document.querySelector(".bar .dot.idle")`)
	s.clean()
}

// TestPagesHearABeat from a console where nothing changes.
func TestPagesHearABeat(t *testing.T) {
	d := openDoor(t, theStage(t).server)
	close(d.hold)
	b := open(t, d.entry)
	b.idle()
	eval[bool](b, `new EventSource("api/events").addEventListener("beat", () => { window.beaten = true; }), true`)
	b.await(`window.beaten`)
	b.clean()
}
