// Package tracing records the steps of an order, which package observe names, as OpenTelemetry spans.
//
// A step is recorded only below the span of a request whose trace was sampled. Everywhere else each function of package
// observe returns at once. So the entry point decides whether a request is traced, and the code below it need not know.
//
// Start exports the spans of a program by OTLP over HTTP, if the environment asks for it, and propagates traces by
// HTTP, SQL and Redis. Without an address in the environment nothing is set up, and nothing is exported.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"orderstock/pkg/config"
)

// Exports are the OpenTelemetry variables that a program documents. The exporter and the library read the others.
type Exports struct {
	// Endpoint is the address for spans by OTLP over HTTP, such as http://127.0.0.1:4318; empty: no tracing.
	// OpenTelemetry's other variables count as well.
	Endpoint string `env:"OTEL_EXPORTER_OTLP_ENDPOINT"`
	// Sampler is OpenTelemetry's sampler of requests without a trace.
	Sampler string `env:"OTEL_TRACES_SAMPLER" envDefault:"parentbased_always_on"`
	// SamplerArg is the share of them, from 0 to 1, for parentbased_traceidratio and traceidratio.
	SamplerArg string `env:"OTEL_TRACES_SAMPLER_ARG"`
	// Console is the address for spans, the load tester's console, if no variable of OpenTelemetry sets one. Then only
	// requests with a sampled trace are traced.
	Console string `env:"CONSOLE_OTLP_ENDPOINT"`
}

var samplers = []string{
	"always_on", "always_off", "traceidratio",
	"parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio",
}

// Check returns an error that names the invalid settings, or nil. It includes variables that only OpenTelemetry's
// libraries read: with a wrong value they panic, or send spans elsewhere.
func (s Exports) Check() error {
	var wrong []error
	if s.Sampler != "" && !slices.Contains(samplers, s.Sampler) {
		wrong = append(wrong,
			fmt.Errorf("OTEL_TRACES_SAMPLER (%s) must be one of %s", s.Sampler, strings.Join(samplers, ", ")))
	}
	if share, err := strconv.ParseFloat(s.SamplerArg, 64); s.SamplerArg != "" && (err != nil || share < 0 || share > 1) {
		wrong = append(wrong, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG (%s) must be a number from 0 to 1", s.SamplerArg))
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"} {
		if p := os.Getenv(name); p != "" && p != "http/protobuf" {
			wrong = append(wrong, fmt.Errorf("%s (%s) must be http/protobuf", name, p))
		}
	}
	for _, name := range []string{
		"OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT",
	} {
		if n := os.Getenv(name); n != "" {
			if number, err := strconv.Atoi(n); err != nil || number < 1 {
				wrong = append(wrong, fmt.Errorf("%s (%s) must be a whole number above 0", name, n))
			}
		}
	}
	const traces = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	return errors.Join(append(wrong, config.CheckURL("OTEL_EXPORTER_OTLP_ENDPOINT", s.Endpoint),
		config.CheckURL("CONSOLE_OTLP_ENDPOINT", s.Console), config.CheckURL(traces, os.Getenv(traces)))...)
}

// on reports whether the environment asks for spans, and if so, whether they are for the console.
func (s Exports) on() (on, console bool) {
	off, _ := strconv.ParseBool(os.Getenv("OTEL_SDK_DISABLED"))
	kind := os.Getenv("OTEL_TRACES_EXPORTER")
	if off || kind == "none" {
		return false, false
	}
	on = s.Endpoint != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" || kind == "otlp"
	return on || s.Console != "", !on
}

// samples returns the decision of a sampler that follows a request's trace, about a request without one. For any other
// sampler it returns nil.
func (s Exports) samples() func() bool {
	share := 1.0
	switch s.Sampler {
	case "parentbased_always_off":
		share = 0
	case "parentbased_traceidratio":
		if set, err := strconv.ParseFloat(s.SamplerArg, 64); err == nil { // otherwise it is not set
			share = set
		}
	case "", "parentbased_always_on":
	default:
		return nil
	}
	return func() bool { return rand.Float64() < share }
}

// requests samples every request, because the Handler has decided about it, and nothing else: a ping of Redis by a
// health check begins no trace.
type requests struct{}

func (requests) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	if p.Kind == trace.SpanKindServer {
		return sdk.AlwaysSample().ShouldSample(p)
	}
	return sdk.NeverSample().ShouldSample(p)
}

func (requests) Description() string { return "Requests" }

// Exporter exports the spans of this process. Methods on a nil *Exporter are no-ops.
type Exporter struct {
	provider *sdk.TracerProvider
	// samples returns the decision about a request without a trace. It is nil if the provider decides about each request,
	// also below a trace.
	samples  func() bool
	cancel   context.CancelFunc
	watching sync.WaitGroup
}

// Start sets up tracing for the whole process, as configured by the environment; name is the service's unless
// OTEL_SERVICE_NAME is set. It returns nil if tracing is off. Failures to export go to log. Callers must Close the
// exporter.
func Start(ctx context.Context, name string, s Exports, log *slog.Logger) (*Exporter, error) {
	on, console := s.on()
	if !on {
		return nil, nil //nolint:nilnil // documented: a nil Exporter is ready for use
	}
	var (
		to      []otlptracehttp.Option
		batch   []sdk.BatchSpanProcessorOption
		sampler []sdk.TracerProviderOption
	)
	if console {
		s.Sampler = "parentbased_always_off"
		to = append(to, otlptracehttp.WithEndpointURL(s.Console+"/v1/traces"))
		batch = append(batch, sdk.WithBatchTimeout(soon)) // somebody looks
	}
	samples := s.samples()
	if samples != nil {
		sampler = append(sampler, sdk.WithSampler(sdk.ParentBased(requests{})))
	}
	client, err := otlptrace.New(ctx, otlptracehttp.NewClient(to...))
	if err != nil {
		return nil, fmt.Errorf("start tracing: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("start tracing: %w", err)
	}
	provider, err := NewProvider(name, host, append(sampler, sdk.WithBatcher(client, batch...))...)
	if err != nil {
		return nil, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("tracing", "error", err.Error()) }))
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	e := &Exporter{provider: provider, samples: samples}
	ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	e.watching.Go(func() { WatchPauses(ctx) })
	return e, nil
}

// NewProvider returns a provider for the instance of the service, unless the environment names another.
func NewProvider(service, instance string, opts ...sdk.TracerProviderOption) (*sdk.TracerProvider, error) {
	what, err := resource.Merge(
		resource.NewSchemaless(semconv.ServiceName(service), semconv.ServiceInstanceID(instance)), resource.Environment())
	if err != nil {
		return nil, fmt.Errorf("start tracing: read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	Enable()
	return sdk.NewTracerProvider(append(opts, sdk.WithResource(what))...), nil
}

// soon is how long the spans for the console wait to be exported together.
const soon = 200 * time.Millisecond

// closeLimit bounds the last export.
const closeLimit = 3 * time.Second

// Close exports the remaining spans and ends tracing. Spans that nobody takes in time are lost, with a line in the log.
func (e *Exporter) Close(ctx context.Context) {
	if e == nil {
		return
	}
	e.cancel()
	e.watching.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	if err := e.provider.Shutdown(ctx); err != nil {
		otel.Handle(fmt.Errorf("end tracing: %w", err))
	}
}
