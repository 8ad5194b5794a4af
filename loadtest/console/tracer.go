package console

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"orderstock/loadtest/fire"
	"orderstock/pkg/tracing"
)

// tracer returns a tracer of that share of the calls, whose spans are kept. Callers must Close it.
func (s *Traces) tracer(share float64) (*fire.Tracer, error) {
	return fire.NewTracer(share, s.Exporter())
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

// traceByHand begins the span of an order by hand, and puts its trace into the header. Repeats of a key are one trace.
func (c *Console) traceByHand(ctx context.Context, header http.Header, key string) (end func(*Placed)) {
	_, span := c.tracer.Begin(ctx, key, "place")
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
