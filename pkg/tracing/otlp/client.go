package otlp

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

// NewClient returns a provider for a program that sends requests. It records the given share of the traces
// that begin here, and passes their spans to export. The calls with one key, which WithKey puts into their
// context, are one trace: its id is made from the key, and every program makes the same one. Callers
// must Shutdown the provider.
func NewClient(name string, share float64, export sdk.SpanExporter) (*sdk.TracerProvider, error) {
	if share < 0 || share > 1 {
		return nil, fmt.Errorf("share of traces %v: want 0 to 1", share)
	}
	return newProvider(name, name, sdk.WithBatcher(export, sdk.WithBatchTimeout(soon)), sdk.WithIDGenerator(keyedIDs{}),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(share))))
}

// soon is how long spans wait for others to be exported with.
const soon = 200 * time.Millisecond

type keyed struct{}

// WithKey returns a context whose next trace is the key's.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyed{}, key)
}

// keyedIDs makes trace ids from keys, and random ids if there is no key.
type keyedIDs struct{}

func (g keyedIDs) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	if key, ok := ctx.Value(keyed{}).(string); ok {
		sum := sha256.Sum256([]byte(key))
		copy(id[:], sum[:])
	} else {
		binary.BigEndian.PutUint64(id[:8], rand.Uint64()|1) // never zero
		binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id, g.NewSpanID(ctx, id)
}

func (keyedIDs) NewSpanID(context.Context, trace.TraceID) (span trace.SpanID) {
	binary.BigEndian.PutUint64(span[:], rand.Uint64()|1)
	return span
}
