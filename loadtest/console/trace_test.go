package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"orderstock/loadtest/console"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
)

// receiver is Traces that counts the requests that it gets.
type receiver struct {
	*console.Traces
	url string
}

func receive(t *testing.T) receiver {
	t.Helper()
	r := receiver{Traces: console.NewTraces()}
	mux := http.NewServeMux()
	mux.Handle("POST /v1/traces", r)
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	r.url = web.URL
	return r
}

// exporting lets both services send every span at once.
func (r receiver) exporting(c *system.Config) {
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": r.url, "OTEL_BSP_SCHEDULE_DELAY": "50"}
	c.OrderEnv, c.StockEnv = env, env
}

// fire sends orders, traces a share of them, and returns the history.
func (r receiver) fire(t *testing.T, cfg fire.Config, share float64) *history.History {
	t.Helper()
	client, err := fire.NewTracer(share, r.Exporter())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Tracer, cfg.Plain = client, true
	h, err := fire.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

// await returns the spans of an order once enough says that they have all come.
func (r receiver) await(t *testing.T, order int64, enough func([]console.Span) bool) []console.Span {
	t.Helper()
	var spans []console.Span
	console.Await(t, func() bool { spans = r.Order(strconv.FormatInt(order, 10)); return enough(spans) }, func() string {
		var text bytes.Buffer
		_ = console.WriteSpans(&text, spans)
		return fmt.Sprintf("spans of order %d are missing:\n%s", order, &text)
	})
	return spans
}

// has reports whether there is an ended span of each name.
func has(names ...string) func([]console.Span) bool {
	return func(spans []console.Span) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return find(spans, name) == nil })
	}
}

func where(spans []console.Span, is func(console.Span) bool) []console.Span {
	return slices.DeleteFunc(slices.Clone(spans), func(s console.Span) bool { return !is(s) })
}

func find(spans []console.Span, name string) *console.Span {
	if i := slices.IndexFunc(spans, func(s console.Span) bool { return s.Name == name }); i >= 0 {
		return &spans[i]
	}
	return nil
}

var steps = []string{
	"place", "POST /v1/orders", "insert-order", "set-flag", "call-stock", "PUT /v1/operations/:flag", "take-flag",
	"acquire-lock", "update-stock", "insert-flow", "commit", "reply", "confirm", "set-status",
}

// more are spans of an order without a fixed place in that order.
var more = []string{"twin", "again", "redis.pipeline set", "redis.pipeline del"}

func TestTraces(t *testing.T) {
	t.Parallel()
	bin := systemtest.Build(t)
	t.Run("one order is one trace", func(t *testing.T) { t.Parallel(); oneOrderIsOneTrace(t, bin) })
	t.Run("a group is linked with its orders", func(t *testing.T) { t.Parallel(); groupIsLinked(t, bin) })
	t.Run("the reconciler goes on with the trace", func(t *testing.T) { t.Parallel(); reconcilerGoesOn(t, bin) })
	t.Run("off by default", func(t *testing.T) { t.Parallel(); offByDefault(t, bin) })
}

// A whole order's spans come from real services, in the order of the protocol and in one trace, under every strategy.
func oneOrderIsOneTrace(t *testing.T, bin string) {
	t.Helper()
	for _, strategy := range []string{"grouped", "sequential"} {
		t.Run(strategy, func(t *testing.T) {
			r := receive(t)
			st := systemtest.Up(t, bin, func(c *system.Config) { r.exporting(c); c.Strategy = strategy })
			h := r.fire(t, fire.Config{Target: st.Target(), Orders: 1, Concurrency: 1, Mix: fire.Mix{Goods: 1, Repeat: 1}}, 1)
			want := append(slices.Clone(steps), more...)
			if strategy == "sequential" { // grouped releases a lock when another process wants it, or nobody
				want = append(want, "release-lock")
			}
			spans := r.await(t, h.Calls[0].Order, has(want...))
			var began int64
			for _, step := range steps {
				span := find(spans, step)
				if twin := find(spans, "twin"); step == "place" && twin.StartUS < span.StartUS {
					span = twin // it is sent at the same time, and may be the first to arrive
				}
				if span.Name == "commit" { // the order's insert was committed before
					span = find(where(spans, func(s console.Span) bool { return s.Lane[:5] == "stock" }), "commit")
				}
				if span.StartUS < began {
					t.Errorf("%s begins before the step before it", step)
				}
				began = span.StartUS
			}
			for _, span := range spans {
				if span.Trace != spans[0].Trace {
					t.Errorf("%s is of another trace", span.Name)
				}
			}
			locked := func(s console.Span) bool { return strings.Trim(s.Attributes["token"], "0") != "" }
			if lock := find(where(spans, locked), "acquire-lock"); lock == nil || len(lock.Attributes["token"]) != 32 {
				t.Errorf("no wait for the lock has a token of 32 digits: %+v", lock) // one that was given up has none
			}
			lanes := map[string]string{"place": "client", "insert-order": "order-1", "acquire-lock": "stock-1"}
			for step, lane := range lanes {
				if got := find(spans, step).Lane; !strings.HasPrefix(got, lane[:5]) {
					t.Errorf("%s is in the lane of %s, want %s", step, got, lane)
				}
			}
			var text bytes.Buffer
			if err := console.WriteSpans(&text, spans); err != nil {
				t.Fatal(err)
			}
			t.Logf("%s", &text)
		})
	}
}

// A transaction that serves several orders stands in the trace of one of them, and each of them leads to it.
func groupIsLinked(t *testing.T, bin string) {
	t.Helper()
	r := receive(t)
	st := systemtest.Up(t, bin, r.exporting)
	// One order asks for the product's price; the others then come together.
	h := r.fire(t, fire.Config{
		Target: st.Target(), Orders: 200, Concurrency: 50, Mix: fire.Mix{Goods: 1, Stock: 1000},
	}, 1)
	// linked returns the group that served the order, and a call of the order that leads to it and back: a call that the
	// order service has given up, and repeated, need not have a group.
	linked := func(spans []console.Span) (call, group *console.Span) {
		own := find(spans, "place")
		for i := range spans {
			for j := range spans {
				call, group = &spans[i], &spans[j]
				if own != nil && call.Name == "PUT /v1/operations/:flag" && call.Trace == own.Trace && group.Name == "group" &&
					slices.Contains(call.Links, console.Link{Trace: group.Trace, Span: group.ID}) &&
					slices.Contains(group.Links, console.Link{Trace: call.Trace, Span: call.ID}) {
					return call, group
				}
			}
		}
		return nil, nil
	}
	var foreign bool
	for _, call := range h.Calls {
		spans := r.await(t, call.Order, func(spans []console.Span) bool {
			part, _ := linked(spans)
			return has("group", "update-stock", "commit")(spans) && part != nil
		})
		part, group := linked(spans)
		foreign = foreign || group.Trace != part.Trace
	}
	if !foreign {
		t.Error("no group served two orders: nothing was tested")
	}
}

// The reconciler of a process that never saw the request goes on with the request's trace.
func reconcilerGoesOn(t *testing.T, bin string) {
	t.Helper()
	r := receive(t)
	st := systemtest.Up(t, bin, func(c *system.Config) {
		r.exporting(c)
		c.OrderServices, c.StockServices = 1, 1
		c.OrderEnv = maps.Clone(c.OrderEnv)
		maps.Copy(c.OrderEnv, map[string]string{
			"PRICE_TTL": "1m", "CONFIRM_BUDGET": "2s", "PENDING_LIMIT": "3s", "RECONCILE_INTERVAL": "100ms",
			"ZOOKEEPER_SESSION_TIMEOUT": "2s",
		})
	})
	// The price is known after this.
	h := r.fire(t, fire.Config{Target: st.Target(), Orders: 1, Concurrency: 1, Mix: fire.Mix{Goods: 1}}, 1)
	if err := st.Stocks[0].Kill(); err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"items":[{"goods_id":"%d","num":1}]}`, h.Goods[0].ID)
	at := st.Orders[0].URL() + "/v1/orders"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	const id = "0af7651916cd43dd8448eb211c80319c"
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("traceparent", "00-"+id+"-b7ad6b7169203331-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	var told struct {
		ID int64 `json:"id,string"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&told); err != nil || resp.StatusCode != http.StatusAccepted {
		t.Fatalf("%s, %v; want the order accepted and left to the reconciler", resp.Status, err)
	}
	r.await(t, told.ID, has("POST /v1/orders", "call-stock"))
	err = errors.Join(st.Orders[0].Kill(), st.Stocks[0].Restart(t.Context()), st.Orders[0].Restart(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	spans := r.await(t, told.ID, func(spans []console.Span) bool {
		return len(where(spans, func(s console.Span) bool {
			return s.Name == "reconcile" && s.Attributes["to"] == "CONFIRMED"
		})) > 0
	})
	first := find(spans, "POST /v1/orders")
	for _, span := range spans {
		if span.Trace != id {
			t.Errorf("%s is of trace %s", span.Name, span.Trace)
		}
		if span.Name == "reconcile" && !slices.Contains(span.Links, console.Link{Trace: id, Span: first.ID}) {
			t.Errorf("the reconciler's work has the links %v, want one to the request that placed the order", span.Links)
		}
	}
}

// offByDefault: the services neither export nor propagate traces.
func offByDefault(t *testing.T, bin string) {
	t.Helper()
	r := receive(t)
	st := systemtest.Up(t, bin, func(c *system.Config) {
		env := map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": r.url}
		c.StockEnv = env
	})
	h := r.fire(t, fire.Config{Target: st.Target(), Orders: 1, Concurrency: 1, Mix: fire.Mix{Goods: 1}}, 1)
	ctx, cancel := context.WithTimeout(t.Context(), console.Patience)
	defer cancel()
	if err := st.Stop(ctx); err != nil { // recorded spans are exported by then
		t.Fatal(err)
	}
	spans := r.await(t, h.Calls[0].Order, func([]console.Span) bool { return true })
	if len(spans) != 1 || spans[0].Lane == "order-1" {
		t.Errorf("%d spans, want the client's alone", len(spans))
	}
}
