package tracing_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"orderstock/pkg/batch"
	"orderstock/pkg/observe"
	"orderstock/pkg/retry"
	"orderstock/pkg/tracing"
)

func recorder(t *testing.T) (trace.Tracer, *tracetest.SpanRecorder) {
	t.Helper()
	tracing.Enable()
	spans := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))
	t.Cleanup(func() { _ = provider.Shutdown(context.WithoutCancel(t.Context())) })
	return provider.Tracer("test"), spans
}

func TestParse(t *testing.T) {
	t.Parallel()
	const id, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for header, sampled := range map[string]bool{
		"00-" + id + "-" + span + "-01": true, "00-" + id + "-" + span + "-00": false,
		"01-" + id + "-" + span + "-03-more": true,
	} {
		sc := tracing.Parse(header)
		if sc.TraceID().String() != id || sc.SpanID().String() != span || sc.IsSampled() != sampled || !sc.IsRemote() {
			t.Errorf("%s: %v, sampled %v", header, sc, sc.IsSampled())
		}
	}
	for _, header := range []string{
		"", "00", "ff-" + id + "-" + span + "-01", "00-" + id + "-" + span, "00-zz-" + span + "-01", "00-" + id + "--01",
		"00-00000000000000000000000000000000-" + span + "-01",
	} {
		if sc := tracing.Parse(header); sc.IsValid() {
			t.Errorf("%q is read as %v", header, sc)
		}
	}
}

// Only the code that lets a request in begins a trace.
func TestNothingIsRecordedBelowNothing(t *testing.T) { // not parallel: it counts allocations
	tracing.Enable()
	ctx, step := observe.Begin(t.Context(), "step")
	step.End(errors.New("failed"))
	ctx, step = observe.Together(ctx, "together", time.Now(), slices.Values([]context.Context{ctx, ctx}))
	step.End(nil)
	ctx, step = observe.Part(ctx, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "part")
	step.End(nil)
	if ctx != t.Context() || observe.Parent(ctx) != "" {
		t.Error("work without a trace has one")
	}
	state := strings.Clone("deducted")
	if n := testing.AllocsPerRun(100, func() {
		_, step := observe.Begin(ctx, "step")
		step.End(nil, "from", state, "moved", "true")
		_, step = observe.Began(ctx, "reply", time.Time{})
		step.End(nil, "to", state)
	}); n > 0 {
		t.Errorf("%v allocations for steps that are not recorded", n)
	}
}

// A span that serves several callers belongs to the trace of the first. It and each caller's span link to each other.
func TestTogether(t *testing.T) {
	t.Parallel()
	tracer, spans := recorder(t)
	untraced := t.Context()
	one, first := tracer.Start(t.Context(), "one")
	two, second := tracer.Start(t.Context(), "two")
	ctx, work := observe.Together(t.Context(), "group", time.Now(), slices.Values([]context.Context{untraced, one, two}))
	_, step := observe.Begin(ctx, "commit")
	step.End(nil)
	work.End(errors.New("refused"))
	first.End()
	second.End()
	all := map[string]sdk.ReadOnlySpan{}
	for _, s := range spans.Ended() {
		all[s.Name()] = s
	}
	group := all["group"]
	if group.SpanContext().TraceID() != first.SpanContext().TraceID() ||
		all["commit"].Parent().SpanID() != group.SpanContext().SpanID() {
		t.Error("the group or its step stands elsewhere than in the first caller's trace")
	}
	if len(group.Links()) != 2 || group.Status().Description != "refused" {
		t.Errorf("the group has %d links and says %q", len(group.Links()), group.Status().Description)
	}
	for _, caller := range []string{"one", "two"} {
		links := all[caller].Links()
		if len(links) != 1 || links[0].SpanContext.SpanID() != group.SpanContext().SpanID() {
			t.Errorf("%s has the links %v", caller, links)
		}
	}
}

// The parts of a shared request belong to their callers' traces, and an untraced caller's part to none.
func TestPart(t *testing.T) {
	t.Parallel()
	tracer, spans := recorder(t)
	request, carrier := tracer.Start(t.Context(), "request")
	const id = "0af7651916cd43dd8448eb211c80319c"
	_, part := observe.Part(request, "00-"+id+"-b7ad6b7169203331-01", "traced")
	part.End(nil)
	ctx, part := observe.Part(request, "", "untraced")
	part.End(nil)
	if tracing.On(ctx) {
		t.Error("the part of a caller without a trace is recorded")
	}
	carrier.End()
	ended := spans.Ended()
	if len(ended) != 2 || ended[0].SpanContext().TraceID().String() != id || len(ended[0].Links()) != 1 {
		t.Errorf("recorded %v", ended)
	}
}

// TestPackagesThatKnowNoTracingAreRecorded: a retry is an event of the span, an attribute of the request is one of
// its span, and its log has the trace's id.
func TestPackagesThatKnowNoTracingAreRecorded(t *testing.T) {
	tracer, spans := recorder(t)
	ctx, span := tracer.Start(t.Context(), "request")
	var log bytes.Buffer
	ctx = observe.WithRequest(ctx, slog.New(slog.NewTextHandler(&log, nil)), "")
	observe.AddAttrs(ctx, tracing.OrderKey, int64(7))
	observe.Logger(ctx).Info("hello")
	failed := errors.New("once")
	_ = retry.Run(ctx, retry.Policy{First: 1, Max: 1, Tries: 2}, func() error { return failed })
	g := batch.Func(func(ctx context.Context, ins []int) ([]int, error) { return ins, nil })
	defer g.Close()
	if _, err := g.Do(ctx, 1); err != nil {
		t.Error(err)
	}
	span.End()
	if want := "trace_id=" + span.SpanContext().TraceID().String(); !strings.Contains(log.String(), want) {
		t.Errorf("no %s in the log: %s", want, log.String())
	}
	ended := spans.Ended()
	if len(ended) != 2 || ended[0].Name() != "batch" {
		t.Fatalf("recorded %v, want the batch and the request", ended)
	}
	of := ended[1]
	if events := of.Events(); len(events) != 1 || events[0].Name != "retry" ||
		!slices.Contains(events[0].Attributes, attribute.String("error", "once")) {
		t.Errorf("events %v, want one retry", events)
	}
	if !slices.Contains(of.Attributes(), attribute.String(tracing.OrderKey, "7")) {
		t.Errorf("attributes %v, want the order's id", of.Attributes())
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
