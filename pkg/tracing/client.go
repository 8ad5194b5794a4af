package tracing

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Client makes spans for the calls of a client program. It is safe for concurrent use.
type Client struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	sampler  sdk.Sampler
}

// NewClient returns a client that records the given share of the traces, and passes their spans to export. Callers
// must Close it.
func NewClient(name string, share float64, export sdk.SpanExporter) (*Client, error) {
	if !(share >= 0 && share <= 1) { // neither is NaN
		return nil, fmt.Errorf("share of traces %v: want 0 to 1", share)
	}
	c := &Client{sampler: sdk.TraceIDRatioBased(share)}
	var err error
	c.provider, err = newProvider(name, name, sdk.WithBatcher(export, sdk.WithBatchTimeout(soon)),
		sdk.WithIDGenerator(givenIDs{}), sdk.WithSampler(sdk.AlwaysSample()))
	if err != nil {
		return nil, err
	}
	c.tracer = c.provider.Tracer("orderstock/client")
	return c, nil
}

// soon is how long spans wait to be exported together.
const soon = 200 * time.Millisecond

// Begin begins the span of a call, which the caller must End. The calls with one key are one trace: its id is derived
// from the key, in the same way by every program. Without a key, each call has a separate trace. The span of a call
// that is not sampled is not recorded, and costs little: the library's takes about 4 µs.
func (c *Client) Begin(ctx context.Context, key, name string) (context.Context, trace.Span) {
	id := traceOf(key)
	if c.sampler.ShouldSample(sdk.SamplingParameters{TraceID: id}).Decision == sdk.Drop {
		ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(
			trace.SpanContextConfig{TraceID: id, SpanID: newSpanID()}))
		return ctx, trace.SpanFromContext(ctx)
	}
	return c.tracer.Start(context.WithValue(ctx, given{}, id), name,
		trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindClient))
}

// Close exports the remaining spans, within ctx.
func (c *Client) Close(ctx context.Context) error { return c.provider.Shutdown(ctx) }

// traceOf returns the id of the key's trace, or a random one if key is empty.
func traceOf(key string) (id trace.TraceID) {
	if key != "" {
		sum := sha256.Sum256([]byte(key))
		copy(id[:], sum[:])
		return id
	}
	binary.BigEndian.PutUint64(id[:8], rand.Uint64()|1) // never zero
	binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	return id
}

func newSpanID() (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|1)
	return id
}

type given struct{}

// givenIDs makes traces under the id given by their context.
type givenIDs struct{}

func (givenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id, ok := ctx.Value(given{}).(trace.TraceID)
	if !ok {
		id = traceOf("")
	}
	return id, newSpanID()
}

func (givenIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return newSpanID() }
