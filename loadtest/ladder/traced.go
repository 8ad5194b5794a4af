package ladder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/stack"
	"orderstock/loadtest/verify"
	"orderstock/migrations"
	"orderstock/pkg/tracing/otlp"
)

// Traced compares the whole orders a second of services that trace a share of them with those of services that
// trace none, under the default strategy.
type Traced struct {
	Server  string `json:"server"`
	Machine string `json:"machine"`
	Date    string `json:"date"`
	// Share is the part of the orders that was traced, and Spans how many spans came of it.
	Share float64 `json:"share"`
	Spans int     `json:"spans"`
	// Ratio is the orders a second with tracing by those without.
	Ratio Ratio `json:"ratio"`
}

// tracedWant is the least part of its throughput that the default strategy is to keep.
const tracedWant = 0.97

// MeasureTraced fires whole orders from that many clients at services without tracing and at services that
// trace the share, in turns of cfg.Measure each. Spans are received in this process.
func MeasureTraced(ctx context.Context, cfg Config, share float64, clients, turns int) (t Traced, err error) {
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
	defer func() { err = errors.Join(err, client.Shutdown(context.WithoutCancel(ctx))) }()

	rows := [2]tracedRow{{name: "off"}, {name: "on"}}
	for i := range rows {
		env := map[string]string{}
		if rows[i].name == "on" {
			env["OTEL_EXPORTER_OTLP_ENDPOINT"] = at
			rows[i].load.Tracer = client.Tracer("orderstock/ladder")
		}
		if err := rows[i].up(ctx, cfg, env); err != nil {
			return t, err
		}
		defer func() { err = errors.Join(err, down(ctx, cfg, rows[i].stack)) }()
		rows[i].load.Concurrency, rows[i].load.Path = clients, history.PathOrder
	}
	for turn := range turns {
		for i := range rows { // each turn begins with the other
			if err := rows[(turn+i)%2].fire(ctx, cfg); err != nil {
				return t, err
			}
		}
		off, on := rows[0].sum(), rows[1].sum()
		if off.DonePerS <= 0 {
			return t, errors.New("nothing was sold without tracing")
		}
		t.Ratio = compare(fmt.Sprintf("order, one hot product, %d clients: grouped, %g traced / none", clients, share),
			on, off, tracedWant)
		t.Ratio.OK = t.Ratio.withinError()
		if _, err := fmt.Fprintln(cfg.Table, t.Ratio.Line()); err != nil {
			return t, fmt.Errorf("print the ratio: %w", err)
		}
	}
	if t.Spans, err = spans.count(); err == nil && t.Spans == 0 {
		err = errors.New("no span was received: nothing was compared")
	}
	return t, err
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

// tracedRow is one side of the comparison.
type tracedRow struct {
	name    string
	stack   *stack.Stack
	load    fire.Config
	reports []*history.Report
}

func (r *tracedRow) up(ctx context.Context, cfg Config, env map[string]string) (err error) {
	accounts := migrations.DefaultAccounts()
	accounts.OrderDB += "_traced_" + r.name
	accounts.StockDB += "_traced_" + r.name
	passwords(&accounts)
	r.stack, err = stack.Up(ctx, stack.Config{
		Dir: filepath.Join(cfg.Dir, "traced-"+r.name), Bin: cfg.Bin, Servers: cfg.Servers, Accounts: accounts,
		OrderServices: 1, StockServices: 1, ZooKeeperRoot: "/traced-" + r.name, OrderEnv: env, StockEnv: env,
	})
	return err
}

func (r *tracedRow) fire(ctx context.Context, cfg Config) error {
	r.load.Target, r.load.Timeout, r.load.Warmup = r.stack.Target(), 30*time.Second, cfg.Warmup
	r.load.Duration = cfg.Warmup + cfg.Measure
	r.load.Mix = fire.Mix{Goods: 1, Stock: plenty, ItemsMax: 1, NumMax: 1}
	h, err := fire.Run(ctx, r.load)
	if err != nil {
		return fmt.Errorf("tracing %s: %w", r.name, err)
	}
	v, err := verify.Run(ctx, verify.Config{Databases: r.stack.Databases(), History: h, Settle: time.Minute})
	if err != nil {
		return fmt.Errorf("tracing %s: %w", r.name, err)
	}
	if v.Outcome != verify.Pass {
		return fmt.Errorf("tracing %s: %s", r.name, v)
	}
	r.reports = append(r.reports, h.Measure())
	return written(ctx, r.stack)
}

func (r *tracedRow) sum() Row {
	return Row{DonePerS: history.Sum(r.reports...).DonePerS, DoneError: doneError(r.reports)}
}
