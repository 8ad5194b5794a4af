package tracing_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"orderstock/pkg/tracing"
)

// TestTheSamplingDecisionIsOurs: a trace that comes from outside neither switches recording on nor off, and one from
// inside does both.
func TestTheSamplingDecisionIsOurs(t *testing.T) {
	receiver := httptest.NewServer(http.NotFoundHandler())
	defer receiver.Close()
	const id = "0af7651916cd43dd8448eb211c80319c"
	const sampled, unsampled = "00-" + id + "-b7ad6b7169203331-01", "00-" + id + "-b7ad6b7169203331-00"
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0")
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
		e, err := tracing.Start(t.Context(), "test", tracing.Exports{Endpoint: receiver.URL, Sampler: c.sampler},
			slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		var recorded bool
		var trace string
		h := e.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			recorded, trace = tracing.On(r.Context()), tracing.Parent(r.Context())
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
		e.Close(t.Context()) // nobody takes the spans
	}
}
