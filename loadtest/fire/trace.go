package fire

import (
	"context"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"orderstock/loadtest/history"
	"orderstock/pkg/tracing"
)

// beginSpan begins the span of the current call, if calls are traced. All calls of one order are one trace.
func (c *client) beginSpan(ctx context.Context) context.Context {
	if c.f.cfg.Tracer == nil {
		return ctx
	}
	ctx, c.span = c.f.cfg.Tracer.Begin(ctx, c.f.h.Key(int(c.event.Op)), c.event.Kind.String())
	return ctx
}

// appendTrace appends the trace header: the id of the call's trace, and whether it is sampled.
func (c *client) appendTrace(header []byte) []byte {
	if c.span == nil {
		return header
	}
	header = append(header, tracing.Header+": "...)
	header = append(header, tracing.Format(c.span.SpanContext())...)
	return append(header, "\r\n"...)
}

// endSpan records the call's outcome in its span and ends it.
func (c *client) endSpan() {
	if c.span == nil {
		return
	}
	if call := &c.event.Call; c.span.IsRecording() {
		c.span.SetAttributes(attribute.Int("http.response.status_code", int(call.Code)),
			attribute.String("status", call.Status.String()), attribute.Bool("replayed", call.Replayed))
		if call.Order != 0 {
			c.span.SetAttributes(attribute.String(tracing.OrderKey, strconv.FormatInt(call.Order, 10)))
		}
		if call.Failure != history.Answered {
			c.span.SetStatus(codes.Error, call.Failure.String())
		}
	}
	c.span.End()
	c.span = nil
}
