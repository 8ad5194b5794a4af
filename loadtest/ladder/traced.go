package ladder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"orderstock/pkg/tracing/otlp"
)

// Traced compares the whole orders per second of services that trace a share of them with services that trace none,
// under the default strategy.
type Traced struct {
	Comparison
	// Share is the part of the orders that was traced, and Spans how many spans came of it.
	Share float64 `json:"share"`
	Spans int     `json:"spans"`
}

// tracedWant is the part of its throughput that the default strategy must keep.
const tracedWant = 0.97

// MeasureTraced fires whole orders from that many clients in that many legs, at least two: at services without tracing,
// and at services that trace the share. Both are new for each leg. Spans are received in this process.
func MeasureTraced(ctx context.Context, cfg Config, share float64, clients, legs int) (t Traced, err error) {
	t.Share = share
	t.Comparison, err = newComparison(ctx, cfg,
		fmt.Sprintf("order, one hot product, %d clients: grouped, %g traced / none", clients, share), tracedWant)
	if err != nil {
		return t, err
	}
	var received spanCounter
	receiver := httptest.NewServer(&received)
	defer receiver.Close()
	export, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(receiver.URL))
	if err != nil {
		return t, fmt.Errorf("export spans: %w", err)
	}
	client, err := otlp.NewClient("client", share, export)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, client.Close(context.WithoutCancel(ctx))) }()

	untraced := variant{shape: shape{Default, 1}}
	traced := untraced
	traced.tracer, traced.env = client, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.URL}
	p := point{path: PathOrder, goods: 1, clients: clients}
	for range legs {
		if err := t.measureLeg(ctx, cfg, p, untraced, traced, slices.Values[[]*contestant]); err != nil {
			return t, err
		}
	}
	if t.Spans = int(received.spans.Load()); t.Spans == 0 {
		return t, errors.New("no span was received: nothing was compared")
	}
	return t, nil
}

// spanCounter counts the spans of the OTLP requests that it gets.
type spanCounter struct{ spans atomic.Int64 }

func (n *spanCounter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err = errors.Join(err, proto.Unmarshal(body, &request)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, from := range request.GetResourceSpans() {
		for _, scope := range from.GetScopeSpans() {
			n.spans.Add(int64(len(scope.GetSpans())))
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf") // an empty message: all was taken
}
