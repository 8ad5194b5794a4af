package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"orderstock/loadtest/console"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/pkg/command"
	"orderstock/pkg/servers/serverstest"
)

// A fired order is traced by the client and both services, its trace stands in their log lines, and "loadtest trace"
// prints its steps from the received spans. The orders go one by one: a request that several share is logged with the
// trace of one of them. By the seed, none asks for so many pieces that it is refused.
func TestFiredOrdersAreTraced(t *testing.T) {
	spans := console.NewTraces()
	mux := http.NewServeMux()
	mux.Handle("POST /v1/traces", spans)
	mux.HandleFunc("GET /api/orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("asked with %q", r.Header.Get("Authorization"))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"spans": spans.Order(r.PathValue("id"))})
	})
	receiver := httptest.NewServer(mux)
	t.Cleanup(receiver.Close)
	env := map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.URL, "OTEL_BSP_SCHEDULE_DELAY": "50", "LOG_LEVEL": "debug",
	}
	st := systemtest.Up(t, systemtest.Build(t), func(c *system.Config) { c.OrderEnv, c.StockEnv = env, env })
	for name, value := range st.LoadtestEnv() {
		t.Setenv(name, value)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.URL)
	folder := t.TempDir()
	if _, exit := execute(t, "fire", "--orders", "5", "--concurrency", "1", "--goods", "2", "--seed", "1",
		"--trace-sample", "1", "--out", folder); exit != command.Passed {
		t.Fatalf("exit code %d", exit)
	}
	order := firedOrder(t, folder)
	steps := []string{"place", "insert-order", "take-flag", "update-stock", "commit", "confirm", "set-status"}
	var tree string
	serverstest.Eventually(t, "all steps are there, some time after the answer", func() bool {
		var exit int
		tree, _, exit = program(t.Context(), "trace", order, "--from", receiver.URL+"/?token=secret")
		return exit == command.Passed && hasAll(tree, steps)
	})
	id := spans.Order(order)[0].Trace
	for name, services := range map[string][]*system.Service{"order": st.Orders, "stock": st.Stocks} {
		var logs []byte
		for _, s := range services {
			log, err := os.ReadFile(s.LogPath())
			if err != nil {
				t.Fatal(err)
			}
			logs = append(logs, log...)
		}
		if !bytes.Contains(logs, []byte(`"trace_id":"`+id+`"`)) {
			t.Errorf("no line of the %s services has the trace id %s", name, id)
		}
	}
}

// firedOrder returns the id of an order of the run that "loadtest fire" kept in the folder.
func firedOrder(t *testing.T, folder string) string {
	t.Helper()
	history, err := os.ReadFile(filepath.Join(folder, "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	order := regexp.MustCompile(`"order":"(\d+)"`).FindSubmatch(history)
	if order == nil {
		t.Fatalf("no order in %s", history)
	}
	return string(order[1])
}

func hasAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// TestTraceAsksAConsole: what answers there is none.
func TestTraceAsksAConsole(t *testing.T) {
	page := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(page.Close)
	_, errs, exit := program(t.Context(), "trace", "1", "--from", page.URL)
	if exit != command.Unknown || !strings.Contains(errs, "is not a console") {
		t.Errorf("exit code %d, printed %q; want %d and that it is not a console", exit, errs, command.Unknown)
	}
}
