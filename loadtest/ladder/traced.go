package ladder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

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
	var spans mailbox
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return t, fmt.Errorf("receive spans: %w", err)
	}
	web := &http.Server{Handler: &spans, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = web.Serve(listener) }() // until it is closed
	defer func() { err = errors.Join(err, web.Close()) }()
	at := "http://" + listener.Addr().String()
	export, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(at))
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
	traced.tracer, traced.env = client, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": at}
	p := point{path: PathOrder, goods: 1, clients: clients}
	for range legs {
		if err := t.measureLeg(ctx, cfg, p, untraced, traced, slices.Values[[]*contestant]); err != nil {
			return t, err
		}
	}
	if t.Spans, err = spans.count(); err == nil && t.Spans == 0 {
		err = errors.New("no span was received: nothing was compared")
	}
	return t, errors.Join(err, cfg.print(t.Ratio))
}

// mailbox keeps the OTLP requests that it gets, and decodes them after the run, so that decoding does not slow the
// measured services.
type mailbox struct {
	mu       sync.Mutex
	requests [][]byte
}

func (m *mailbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender sees no answer
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, body)
	w.Header().Set("Content-Type", "application/x-protobuf") // an empty message: all was taken
}

// count returns the number of spans.
func (m *mailbox) count() (spans int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, body := range m.requests {
		var request collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &request); err != nil {
			return 0, fmt.Errorf("read spans: %w", err)
		}
		for _, from := range request.GetResourceSpans() {
			for _, scope := range from.GetScopeSpans() {
				spans += len(scope.GetSpans())
			}
		}
	}
	return spans, nil
}
