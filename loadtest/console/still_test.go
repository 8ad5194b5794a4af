//go:build browser

package console_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"orderstock/loadtest/console"
)

// still is the page with a server that returns given answers, and records the page's requests.
type still struct {
	*browser
	stands atomic.Bool // the console stands still

	mu    sync.Mutex
	posts map[string][]string // the bodies by path
}

// stillForm is what GET /api/form answers.
const stillForm = `{
	"strategies": [
		{"name": "grouped", "says": "one transaction"},
		{"name": "unsafe", "says": "no lock: oversells; only with ` + "`--allow-unsafe`" + `", "unsafe": true},
		{"name": "etcd", "says": "a lease with ` + "`--fast`" + ` renewals", "unsafe": true}
	],
	"steps": ["commit"], "whens": ["before", "after"], "wires": ["mysql", "redis"],
	"actions": [
		{"name": "kill-server", "says": "kill the server", "target": "server"},
		{"name": "pause", "says": "stop the process", "target": "replica"}
	],
	"settings": [
		{"name": "orders", "flag": "orders", "label": "Orders", "most": 200000, "unit": ""},
		{"name": "repeat", "flag": "repeat", "label": "Sent again", "most": 1, "unit": ""},
		{"name": "settle_s", "flag": "settle", "label": "Seconds to settle", "most": 300, "unit": "s"},
		{"name": "trace_sample", "flag": "trace-sample", "label": "Traced", "most": 1, "unit": ""},
		{"name": "path", "flag": "path", "label": "", "most": 0, "unit": ""}
	],
	"defaults": {"path": "order", "orders": 800, "concurrency": 200, "goods": 5, "stock": 300, "repeat": 0.1}}`

// stillState is a part of the state of a console that is idle.
const stillState = `"phase": "idle", "can": {},
	"replicas": [
		{"name": "order-1", "kind": "order", "state": "ready"}, {"name": "stock-1", "kind": "stock", "state": "ready"}],
	"servers": [{"name": "redis", "state": "ready"}, {"name": "mysql", "state": "ready"},
		{"name": "zookeeper", "state": "ready"}]`

// openStill opens the page. state holds members of the state, as JSON; answers are the API's, by path.
func openStill(t *testing.T, state string, answers map[string]string) *still {
	t.Helper()
	return openStillAt(t, "", state, answers)
}

// openStillAt opens the page or, with its query, the stage.
func openStillAt(t *testing.T, query, state string, answers map[string]string) *still {
	t.Helper()
	return openStillWith(t, query, state, answers, func(*browser) {})
}

// openStillWith opens it in a tab that prepare prepares.
func openStillWith(t *testing.T, query, state string, answers map[string]string, prepare func(*browser)) *still {
	t.Helper()
	if state != "" {
		state = ", " + state
	}
	s := &still{posts: map[string][]string{}}
	files := http.FileServerFS(console.Page())
	known := map[string]string{"/api/form": stillForm, "/api/faults": "[]", "/api/tour": "[]"}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/api/") {
			files.ServeHTTP(w, r)
			return
		}
		if r.URL.Path == "/api/events" {
			w.Header().Set("Content-Type", "text/event-stream")
			data := strings.Join(strings.Fields("{"+stillState+state+"}"), " ")
			_, _ = w.Write([]byte("event: snapshot\ndata: " + data + "\n\n"))
			w.(http.Flusher).Flush()
			s.beat(w, r)
			return
		}
		if r.Method == http.MethodPost {
			var body json.RawMessage
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			s.mu.Lock()
			s.posts[r.URL.Path] = append(s.posts[r.URL.Path], string(body))
			s.mu.Unlock()
		}
		answer, ok := answers[r.URL.Path]
		if !ok {
			answer, ok = known[r.URL.Path]
		}
		if !ok {
			http.Error(w, `{"detail": "not known here"}`, http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections) // before
	s.browser = open(t, "about:blank")
	prepare(s.browser)
	s.do(chromedp.Navigate(web.URL + "/" + query))
	s.await(`document.querySelector(".bar .dot.idle, .on-stage")`)
	eval[bool](s.browser, `import("./js/state.js").then((module) => { window.page = module; }), true`)
	s.await(`window.page && page.form.value`)
	return s
}

// beat sends heartbeats until the request ends, except while the console stands still.
func (s *still) beat(w http.ResponseWriter, r *http.Request) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
		if s.stands.Load() {
			continue
		}
		_, _ = w.Write([]byte("event: beat\ndata: null\n\n"))
		w.(http.Flusher).Flush()
	}
}

// sent returns the bodies that the page posted to a path.
func (s *still) sent(path string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.posts[path]
}
