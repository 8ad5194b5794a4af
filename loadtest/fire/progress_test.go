package fire_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/fire"
)

// TestProgressSaysThatCallsAreRepeated once all orders are sent, and says nothing twice. It takes five seconds, in
// which two lines of progress are due.
func TestProgressSaysThatCallsAreRepeated(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.answer = func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }
	cfg := s.config()
	cfg.Orders, cfg.Plain, cfg.Patience, cfg.Mix.Repeat = 3, true, 4500*time.Millisecond, 0
	var text bytes.Buffer
	cfg.Progress = &text
	if _, err := fire.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if want := "100%  repeating calls without an end, 3 left"; lines[0] != want ||
		len(slices.Compact(slices.Clone(lines))) < len(lines) {
		t.Errorf("%q; want %q, and no line twice", lines, want)
	}
}
