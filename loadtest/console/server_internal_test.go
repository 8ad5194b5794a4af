package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"orderstock/loadtest/tables"
)

// TestActionOutlastsItsPage: a tab that is closed leaves nothing half healed.
func TestActionOutlastsItsPage(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	ctx, end := outlasting(httptest.NewRequestWithContext(gone, http.MethodPost, "/api/heal", http.NoBody))
	defer end()
	if _, bounded := ctx.Deadline(); !bounded || ctx.Err() != nil {
		t.Errorf("the action has ended with its request (%v), or has no limit", ctx.Err())
	}
}

// TestFormNamesTheProgram as it is called where the stack runs.
func TestFormNamesTheProgram(t *testing.T) {
	for called, want := range map[string]string{
		"": "bin/loadtest", "docker-compose run --rm loadtest": "docker-compose run --rm loadtest",
	} {
		c, err := Attach(Target{Program: called}, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.view.close)
		if got := NewServer(c, ServerConfig{}).form()["program"]; got != want {
			t.Errorf("%q: the form says %q, want %q", called, got, want)
		}
	}
}

// TestCommandsAreReadStrictly, as the services read their requests.
func TestCommandsAreReadStrictly(t *testing.T) {
	handler := command(http.StatusOK, func(*http.Request, tables.Custom) (any, error) { return "done", nil })
	for body, want := range map[string]int{
		`{"orders":1}`: 200, `{"orders":1,"orders":2}`: 400, `{"ORDERS":1}`: 400, `{"orders":1}{}`: 400, `{"x":1}`: 400,
		"{\"path\":\"\xff\"}": 400, `{"path":"` + strings.Repeat("x", 64<<10) + `"}`: 413,
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		handler(rec, req)
		if rec.Code != want {
			t.Errorf("%.40q: %d %s, want %d", body, rec.Code, rec.Body, want)
		}
	}
}
