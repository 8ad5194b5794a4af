package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// shopFile writes a file for a shop with five pieces at that address.
func shopFile(t *testing.T, target string) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "shop.yaml")
	err := os.WriteFile(name, []byte(`target: `+target+`
stock: {"1": 5}
order: {post: /, headers: {Idempotency-Key: "{{key}}"}, repeats: none}
answers:
  - {status: 201, means: accepted, order: $.id}
  - {status: 409, contains: sold out, means: rejected}
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// seller sells so many pieces.
func seller(t *testing.T, pieces int64) (address string) {
	t.Helper()
	var sold atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := sold.Add(1)
		if n > pieces {
			http.Error(w, "sold out", http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"id":%d}`, n)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestJudgeExitsAsItJudges(t *testing.T) {
	t.Parallel()
	report := filepath.Join(t.TempDir(), "out", "report.html")
	for name, c := range map[string]struct {
		args []string
		exit int
		want string
	}{
		"pass":      {[]string{"judge", shopFile(t, seller(t, 5)), "--phase", "alone"}, 0, "VERDICT: PASS alone=pass\n"},
		"violation": {[]string{"judge", shopFile(t, seller(t, 9)), "--phase", "together", "--report", report}, 1, "not-oversold: 1× 9 pieces of product 1 were accepted, and there were 5"},
		"unknown":   {[]string{"judge", shopFile(t, seller(t, 0)), "--phase", "alone"}, 2, "unknown: no order was accepted"},
		"all phases, without reset": {
			[]string{"judge", shopFile(t, seller(t, 5))}, 2, "VERDICT: UNKNOWN alone=pass together=unknown",
		},
		"try":             {[]string{"judge", "try", shopFile(t, seller(t, 5))}, 0, "read as: accepted, order 1 (answer 1)"},
		"a wrong phase":   {[]string{"judge", shopFile(t, seller(t, 5)), "--phase", "night"}, 2, `phase "night": want alone`},
		"a wrong line":    {[]string{"judge", shopFile(t, "x://y")}, 2, `shop.yaml: line 1, column 1: target "x://y": want http`},
		"no file":         {[]string{"judge", "none.yaml"}, 2, "no such file"},
		"new":             {[]string{"judge", "new", "--curl", "curl http://127.0.0.1/buy -d a=1"}, 0, `post: "/buy"`},
		"new, of nothing": {[]string{"judge", "new", "--curl", "curl"}, 2, "the command has no address"},
	} {
		out, errs, exit := program(t.Context(), c.args...)
		if exit != c.exit || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s: exit code %d, want %d, and %q in\n%s%s", name, exit, c.exit, c.want, out, errs)
		}
	}
	page, err := os.ReadFile(report)
	if err != nil || !strings.Contains(string(page), "9 pieces of product 1 were accepted") {
		t.Errorf("the report: %v\n%s", err, page)
	}
}

func TestJudgePrintsJSON(t *testing.T) {
	t.Parallel()
	out, errs, _ := program(t.Context(), "judge", shopFile(t, seller(t, 9)), "--phase", "alone", "--json")
	var result struct {
		Verdict string `json:"verdict"`
		Phases  []struct {
			Violations []struct {
				Examples []struct {
					Calls []struct {
						Status int `json:"status"`
					} `json:"calls"`
				} `json:"examples"`
			} `json:"violations"`
		} `json:"phases"`
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	if result.Verdict != "violation" || result.Phases[0].Violations[0].Examples[0].Calls[0].Status != http.StatusCreated ||
		!strings.Contains(errs, "VERDICT: VIOLATION") {
		t.Errorf("printed\n%s\nand\n%s", out, errs)
	}
}
