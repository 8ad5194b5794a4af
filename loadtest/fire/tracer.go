package fire

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	otel "go.opentelemetry.io/otel/trace"

	"orderstock/pkg/tracing"
)

// Tracer makes the spans of a share of a client's calls. It is safe for concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   otel.Tracer
	sampler  sdk.Sampler
}

// NewTracer returns a tracer that records the given share of the traces, and passes their spans to export. Callers
// must Close it.
func NewTracer(share float64, export sdk.SpanExporter) (*Tracer, error) {
	if !(share >= 0 && share <= 1) { // neither is NaN
		return nil, fmt.Errorf("share of traces %v: want 0 to 1", share)
	}
	t := &Tracer{sampler: sdk.TraceIDRatioBased(share)}
	var err error
	t.provider, err = tracing.NewProvider("client", "client", sdk.WithBatcher(export, sdk.WithBatchTimeout(soon)),
		sdk.WithIDGenerator(givenIDs{}), sdk.WithSampler(sdk.AlwaysSample()))
	if err != nil {
		return nil, err
	}
	t.tracer = t.provider.Tracer("orderstock/client")
	return t, nil
}

// soon is how long spans wait to be exported together.
const soon = 200 * time.Millisecond

// Begin begins the span of a call, which the caller must End. The calls with one key are one trace: its id is derived
// from the key, in the same way by every program. Without a key, each call has a separate trace. The span of a call
// that is not sampled is not recorded, and costs little: the library's takes about 4 µs.
func (t *Tracer) Begin(ctx context.Context, key, name string) (context.Context, otel.Span) {
	id := traceOf(key)
	if t.sampler.ShouldSample(sdk.SamplingParameters{TraceID: id}).Decision == sdk.Drop {
		ctx = otel.ContextWithSpanContext(ctx, otel.NewSpanContext(
			otel.SpanContextConfig{TraceID: id, SpanID: tracing.NewSpanID()}))
		return ctx, otel.SpanFromContext(ctx)
	}
	return t.tracer.Start(context.WithValue(ctx, given{}, id), name,
		otel.WithNewRoot(), otel.WithSpanKind(otel.SpanKindClient))
}

// Close exports the remaining spans, within ctx.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// traceOf returns the id of the key's trace, or a random one if key is empty.
func traceOf(key string) (id otel.TraceID) {
	if key == "" {
		return tracing.NewTraceID()
	}
	sum := sha256.Sum256([]byte(key))
	copy(id[:], sum[:])
	return id
}

type given struct{}

// givenIDs makes traces under the id given by their context.
type givenIDs struct{}

func (givenIDs) NewIDs(ctx context.Context) (otel.TraceID, otel.SpanID) {
	id, ok := ctx.Value(given{}).(otel.TraceID)
	if !ok {
		id = traceOf("")
	}
	return id, tracing.NewSpanID()
}

func (givenIDs) NewSpanID(context.Context, otel.TraceID) otel.SpanID { return tracing.NewSpanID() }
