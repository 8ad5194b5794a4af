package tracing_test

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"orderstock/pkg/tracing"
)

// TestASilentCollectorIsNoFailure: it costs its spans and some seconds, and a line in the log.
func TestASilentCollectorIsNoFailure(t *testing.T) { // not parallel: tracing is the process's
	silent, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+silent.Addr().String())
	var log bytes.Buffer
	e, err := tracing.Start(t.Context(), "test", tracing.Exports{Endpoint: "http://" + silent.Addr().String()},
		slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	_, span := otel.Tracer("test").Start(t.Context(), "lost", trace.WithSpanKind(trace.SpanKindServer))
	span.End()
	e.Close(t.Context())
	if !strings.Contains(log.String(), "end tracing") {
		t.Errorf("logged %q", log.String())
	}
}
