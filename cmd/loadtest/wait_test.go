package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"orderstock/pkg/command"
)

// TestWaitEndsWhenAllAreReady, and otherwise names the services that are not.
func TestWaitEndsWhenAllAreReady(t *testing.T) {
	var asked atomic.Int64
	order := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || asked.Add(1) < 3 {
			http.Error(w, "no MySQL", http.StatusServiceUnavailable)
		}
	}))
	defer order.Close()
	stock := httptest.NewServer(http.NotFoundHandler())
	defer stock.Close()
	t.Setenv("ORDER_URLS", order.URL)
	t.Setenv("STOCK_URLS", order.URL)
	_, errs, exit := program(t.Context(), "wait", "--for", "1m")
	if exit != command.Passed || !strings.Contains(errs, "order service: "+order.URL+"/readyz answers 503") {
		t.Errorf("exit code %d: %s", exit, errs)
	}
	t.Setenv("STOCK_URLS", stock.URL)
	_, errs, exit = program(t.Context(), "wait", "--for", "1s")
	want := "not ready after 1s: stock service: " + stock.URL + "/readyz answers 404"
	if exit != command.Failed || !strings.Contains(errs, want) || strings.Contains(errs, "order service") {
		t.Errorf("exit code %d: %s\nwant %s", exit, errs, want)
	}
}
