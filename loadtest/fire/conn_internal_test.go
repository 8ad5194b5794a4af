package fire

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A connection keeps no buffer for the longest answer that it has ever read: a run has hundreds of connections.
func TestAConnectionForgetsALongAnswer(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat("x", map[string]int{"/long": 1 << 20, "/short": 10}[r.URL.Path])))
	}))
	t.Cleanup(s.Close)
	c := newConn(s.URL, time.Minute)
	defer c.close()
	for path, most := range map[string]int{"/long": 1 << 20, "/short": 10} {
		if a, err := c.do(t.Context(), request{method: http.MethodGet, path: path}); err != nil || len(a.body) != most {
			t.Fatalf("%d bytes of %s, %v; want %d", len(a.body), path, err, most)
		}
	}
	if _, err := c.do(t.Context(), request{method: http.MethodGet, path: "/short"}); err != nil {
		t.Fatal(err)
	}
	if kept := c.body.Cap(); kept > 2*mostKept {
		t.Errorf("it keeps %d bytes, want %d at most", kept, 2*mostKept)
	}
}
