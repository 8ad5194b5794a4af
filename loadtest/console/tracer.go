package console

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	spans "orderstock/loadtest/trace"
	"orderstock/pkg/tracing"
)

// tracer keeps the spans of the last orders, from the services and from the console's own calls.
type tracer struct {
	store *spans.Store
	hand  *spans.Client // of orders by hand, which are always traced
}

func newTracer() (*tracer, error) {
	t := &tracer{store: spans.NewStore()}
	var err error
	t.hand, err = t.client(1)
	return t, err
}

// client returns a client that traces that share of its calls. Callers must Close it.
func (t *tracer) client(share float64) (*spans.Client, error) {
	return spans.NewClient("client", share, t.store.Exporter())
}

// envOf returns the environment of services that send their spans to url.
func envOf(url, token string) map[string]string {
	return map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": url,
		"OTEL_EXPORTER_OTLP_HEADERS":  "Authorization=Bearer%20" + token,
		"OTEL_TRACES_SAMPLER":         "parentbased_always_off", // the client decides which orders are traced
		"OTEL_BSP_SCHEDULE_DELAY":     "200",
	}
}

// begin begins the span of an order by hand, and puts its trace into the header. Repeats of a key are one trace.
func (t *tracer) begin(ctx context.Context, header http.Header, key string) (end func(*Placed)) {
	_, span := t.hand.Begin(ctx, key, "place")
	header.Set(tracing.Header, tracing.Format(span.SpanContext()))
	return func(p *Placed) {
		if p.Status == 0 {
			span.SetStatus(codes.Error, "no answer")
		} else {
			_, status := orderOf(p.Body)
			span.SetAttributes(attribute.Int("http.response.status_code", p.Status), attribute.String("status", status))
		}
		if p.OrderID != "" {
			span.SetAttributes(attribute.String(tracing.OrderKey, p.OrderID))
		}
		span.End()
	}
}

func (t *tracer) close(ctx context.Context) error {
	return t.hand.Close(context.WithoutCancel(ctx))
}
