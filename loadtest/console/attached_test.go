package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"orderstock/loadtest/console"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
)

// watch attaches a console to a stack until the test ends.
func watch(t *testing.T, target console.Target) (*console.Console, *console.Server) {
	t.Helper()
	watcher, err := console.Attach(target, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- watcher.Run(t.Context()) }()
	t.Cleanup(func() {
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
	return watcher, console.NewServer(watcher, console.ServerConfig{})
}

// TestAttachedConsoleTracesAnOrderByHand at services that it did not start. Orders that others send there are not
// traced.
func TestAttachedConsoleTracesAnOrderByHand(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewUnstartedServer(nil)
	t.Cleanup(receiver.Close)
	st := systemtest.Up(t, systemtest.Build(t), func(c *system.Config) {
		c.OrderEnv = map[string]string{"CONSOLE_OTLP_ENDPOINT": "http://" + receiver.Listener.Addr().String()}
		c.StockEnv = c.OrderEnv
	})
	watcher, server := watch(t, console.Target{Target: st.Target(), Databases: st.Databases()})
	receiver.Config.Handler = server.TracesHandler()
	receiver.Start()

	h, err := fire.Run(t.Context(), fire.Config{Target: st.Target(), Orders: 1, Concurrency: 1, Mix: fire.Mix{Goods: 1}})
	if err != nil {
		t.Fatal(err)
	}
	outside := placeFromOutside(t, st.Target().OrderURLs[0], h.Goods[0].ID)
	placed, err := watcher.PlaceByHand(t.Context(), console.HandOrder{
		Items: []console.HandItem{{GoodsID: strconv.FormatInt(h.Goods[0].ID, 10), Num: 1}}, Key: "by-hand",
	})
	if err != nil || placed.Status != http.StatusCreated {
		t.Fatalf("%+v, %v", placed, err)
	}
	steps := func(order string) (names []string) {
		life, err := watcher.Life(t.Context(), order)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range life.Spans {
			names = append(names, strings.TrimRight(s.Lane, "-12")+" "+s.Name)
		}
		return names
	}
	want := []string{"client place", "order insert-order", "order call-stock", "stock commit", "order set-status"}
	var got []string
	console.Await(t, func() bool {
		got = steps(placed.OrderID)
		return !slices.ContainsFunc(want, func(step string) bool { return !slices.Contains(got, step) })
	}, func() string { return fmt.Sprintf("the steps are %q, want all of %q", got, want) })
	if got := steps(strconv.FormatInt(h.Calls[0].Order, 10)); len(got) > 0 {
		t.Errorf("an order that came without a trace has the steps %q", got)
	}
	if got := steps(outside); len(got) > 0 {
		t.Errorf("an order from outside switched tracing on: %q", got)
	}
}

// placeFromOutside places an order as a client behind a proxy that asks for a trace, and returns its id.
func placeFromOutside(t *testing.T, url string, goods int64) string {
	t.Helper()
	body := fmt.Sprintf(`{"items":[{"goods_id":"%d","num":1}]}`, goods)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/orders", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Forwarded-For", "192.0.2.1")
	req.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var placed struct{ ID string }
	if err := json.NewDecoder(resp.Body).Decode(&placed); err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("%s, %v", resp.Status, err)
	}
	return placed.ID
}
