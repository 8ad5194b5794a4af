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
	Server  string `json:"server"`
	Machine string `json:"machine"`
	Date    string `json:"date"`
	// Share is the part of the orders that was traced, and Spans how many spans came of it.
	Share float64 `json:"share"`
	Spans int     `json:"spans"`
	// Untraced[i] and Traced[i] are orders a second of two turns, one after the other, each with its own services.
	Untraced []float64 `json:"untraced_per_s"`
	Traced   []float64 `json:"traced_per_s"`
	// Ratio is the orders a second with tracing by those without. Its error is the spread of the pairs of turns.
	Ratio Ratio `json:"ratio"`
}

// tracedWant is the part of its throughput that the default strategy must keep.
const tracedWant = 0.97

// MeasureTraced fires whole orders from that many clients in pairs of turns of cfg.Measure, at least two: one at
// services without tracing, one at services that trace the share. Each pair begins with the other. The services restart
// for each turn: of two processes of the same program, one may be about 5 % faster than the other for its whole life.
// Spans are received in this process.
func MeasureTraced(ctx context.Context, cfg Config, share float64, clients, pairs int) (t Traced, err error) {
	t = Traced{Machine: machine(), Date: time.Now().UTC().Format(time.DateOnly), Share: share}
	if t.Server, err = serverVersion(ctx, cfg.Servers.MySQL); err != nil {
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
	for pair := range pairs {
		var perS [2]float64
		for i := range perS {
			if (pair+i)%2 == 0 {
				perS[0], err = fireAnew(ctx, cfg, 2*pair+i, untraced, nil)
			} else {
				perS[1], err = fireAnew(ctx, cfg, 2*pair+i, traced, env)
			}
			if err != nil {
				return t, fmt.Errorf("pair %d: %w", pair+1, err)
			}
		}
		if perS[0] <= 0 {
			return t, errors.New("nothing was sold without tracing")
		}
		t.Untraced, t.Traced = append(t.Untraced, perS[0]), append(t.Traced, perS[1])
		t.Ratio = pairsRatio(fmt.Sprintf("order, one hot product, %d clients: grouped, %g traced / none", clients, share),
			t.Untraced, t.Traced, tracedWant)
		cfg.Progress(fmt.Sprintf("pair %d of %d: %.0f/s untraced, %.0f/s traced", pair+1, pairs, perS[0], perS[1]))
	}
	if t.Spans, err = spans.count(); err == nil && t.Spans == 0 {
		err = errors.New("no span was received: nothing was compared")
	}
	if err != nil {
		return t, err
	}
	_, err = fmt.Fprintln(cfg.Table, t.Ratio.Line())
	return t, err
}

// pairsRatio returns the ratio of rates that were measured in pairs, b by a.
func pairsRatio(name string, a, b []float64, want float64) Ratio {
	rows := func(rates []float64) (all []Row) {
		for _, rate := range rates {
			all = append(all, Row{DonePerS: rate})
		}
		return all
	}
	as, bs := rows(a), rows(b)
	r := Ratio{Name: name, Value: perSecond(bs) / perSecond(as), Error: legsError(as, bs), Want: want}
	r.OK = r.withinError()
	return r
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
