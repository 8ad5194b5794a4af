package ladder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
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

// MeasureTraced fires whole orders from that many clients in legs of turns of cfg.Measure, at least two: at services
// without tracing, and at services that trace the share. The services restart for each turn: of two processes of the
// same program, one may be about 5 % faster than the other for its whole life. Spans are received in this process.
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

	untraced := fire.Config{Concurrency: clients, Path: history.PathOrder}
	traced := untraced
	traced.Tracer = client
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": at}
	err = t.measure(cfg, legs, func(leg int, b bool) (float64, error) {
		if b {
			return fireAnew(ctx, cfg, 2*leg+1, traced, env)
		}
		return fireAnew(ctx, cfg, 2*leg, untraced, nil)
	})
	if err != nil {
		return t, err
	}
	if t.Spans, err = spans.count(); err == nil && t.Spans == 0 {
		err = errors.New("no span was received: nothing was compared")
	}
	return t, err
}

// fireAnew starts services, the nth of the run, with env in their environment, and fires at them. It returns the orders
// per second.
func fireAnew(
	ctx context.Context, cfg Config, n int, load fire.Config, env map[string]string,
) (perS float64, err error) {
	st, err := upWith(ctx, cfg, n, shape{Default, 1}, PathOrder, env)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, down(ctx, cfg, st)) }()
	load.Timeout, load.Warmup = 30*time.Second, cfg.Warmup
	load.Duration = cfg.Warmup + cfg.Measure
	load.Mix = fire.Mix{Goods: 1, Stock: plenty, ItemsMax: 1, NumMax: 1}
	r, err := trial.On(st, load).Run(ctx)
	if err != nil {
		return 0, err
	}
	if r.Verdict.Outcome != verify.Pass {
		return 0, errors.New(r.Verdict.String())
	}
	return r.History.Measure().DonePerS, nil
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
