package tracing_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/otel"

	"orderstock/pkg/observe"
	"orderstock/pkg/tracing"
)

// TestTheSamplingDecisionIsOurs: a trace that comes from outside neither switches recording on nor off, and one from
// inside does both.
func TestTheSamplingDecisionIsOurs(t *testing.T) {
	receiver := httptest.NewServer(http.NotFoundHandler())
	defer receiver.Close()
	const id = "0af7651916cd43dd8448eb211c80319c"
	const sampled, unsampled = "00-" + id + "-b7ad6b7169203331-01", "00-" + id + "-b7ad6b7169203331-00"
	for _, c := range []struct {
		sampler, from, header string
		recorded              bool
	}{
		{"parentbased_traceidratio", "outside", sampled, false},
		{"parentbased_traceidratio", "outside", "", false},
		{"parentbased_traceidratio", "inside", sampled, true},
		{"parentbased_always_off", "outside", sampled, false},
		{"parentbased_always_off", "inside", sampled, true},
		{"parentbased_always_on", "outside", unsampled, true},
		{"parentbased_always_on", "outside", sampled, true},
		{"parentbased_always_on", "inside", unsampled, false},
		{"always_off", "inside", sampled, false},
	} {
		t.Setenv("OTEL_TRACES_SAMPLER", c.sampler)
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.URL)
		e, err := tracing.Start(t.Context(), "test",
			tracing.Exports{Endpoint: receiver.URL, Sampler: c.sampler, SamplerArg: "0"}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		var recorded bool
		var trace string
		h := e.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			recorded, trace = tracing.On(r.Context()), observe.Parent(r.Context())
		}), func(r *http.Request) bool { return r.Header.Get("From") == "inside" })
		req := httptest.NewRequest(http.MethodGet, "/v1/orders", nil)
		req.Header.Set("From", c.from)
		if c.header != "" {
			req.Header.Set(tracing.Header, c.header)
		}
		h.ServeHTTP(httptest.NewRecorder(), req)
		if recorded != c.recorded {
			t.Errorf("%s, from %s with %q: recorded %t", c.sampler, c.from, c.header, recorded)
		}
		if sc := tracing.Parse(trace); recorded && (sc.TraceID().String() == id) != (c.from == "inside") {
			t.Errorf("%s, from %s: in the trace %s", c.sampler, c.from, sc.TraceID())
		}
		if _, stray := otel.Tracer("test").Start(t.Context(), "ping"); stray.IsRecording() {
			t.Errorf("%s: work outside any request is recorded", c.sampler)
		}
		e.Close(t.Context()) // nobody takes the spans
	}
}

// TestAnUnsampledRequestIsCheap: nothing is prepared for a span that nobody records, and its log lines have one trace's
// id, which its calls carry.
func TestAnUnsampledRequestIsCheap(t *testing.T) { // not parallel: it counts allocations
	e, err := tracing.Start(t.Context(), "test", tracing.Exports{
		Endpoint: "http://127.0.0.1:1", Sampler: "parentbased_traceidratio", SamplerArg: "0",
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	var at, sent string
	rt := e.Transport(transportFunc(func(r *http.Request) (*http.Response, error) {
		sent = r.Header.Get(tracing.Header)
		return nil, http.ErrHandlerTimeout
	}))
	call := true
	h := e.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if call {
			at = observe.TraceID(r.Context())
			_, _ = rt.RoundTrip(r)
		}
	}), func(*http.Request) bool { return false })
	req, w := httptest.NewRequest(http.MethodGet, "/v1/orders", nil), httptest.NewRecorder()
	h.ServeHTTP(w, req)
	if sc := tracing.Parse(sent); at == "" || sc.TraceID().String() != at || sc.IsSampled() {
		t.Errorf("in the trace %q, it sends %q", at, sent)
	}
	call = false
	if n := testing.AllocsPerRun(100, func() { h.ServeHTTP(w, req) }); n > 10 {
		t.Errorf("%v allocations for a request that is not recorded", n)
	}
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
