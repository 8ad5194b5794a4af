package fire_test

import (
	"math"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"orderstock/loadtest/fire"
)

// TestCallsOfAKeyAreOneTrace: every program makes the same trace of a key, also one that does not record it.
func TestCallsOfAKeyAreOneTrace(t *testing.T) {
	t.Parallel()
	begin := func(share float64, key string) (id string, recorded bool) {
		exported := tracetest.NewInMemoryExporter()
		c, err := fire.NewTracer(share, exported)
		if err != nil {
			t.Fatal(err)
		}
		_, span := c.Begin(t.Context(), key, "place")
		recorded = span.IsRecording()
		sc := span.SpanContext()
		if !sc.IsValid() || sc.IsSampled() != recorded {
			t.Errorf("share %v: %+v, recorded %t", share, sc, recorded)
		}
		span.End()
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		return sc.TraceID().String(), recorded
	}
	always, recorded := begin(1, "key")
	never, not := begin(0, "key")
	if always != never || !recorded || not {
		t.Errorf("traces %s, recorded %t, and %s, recorded %t", always, recorded, never, not)
	}
	if other, _ := begin(1, "other"); other == always {
		t.Error("two keys are one trace")
	}
	one, _ := begin(1, "")
	if two, _ := begin(1, ""); one == two {
		t.Error("two calls without a key are one trace")
	}
	for _, share := range []float64{-0.1, 1.1, math.NaN()} {
		if _, err := fire.NewTracer(share, tracetest.NewInMemoryExporter()); err == nil {
			t.Errorf("a share of %v is taken", share)
		}
	}
}
