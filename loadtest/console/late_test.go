//go:build browser

package console_test

import (
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"orderstock/pkg/tracing"

	"orderstock/loadtest/console"
)

// asked returns how often the page has asked for an address that ends so.
func (b *browser) asked(end string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		if strings.HasSuffix(r, end) {
			n++
		}
	}
	return n
}

// sendStep sends a step of an order as a service does.
func (s *stage) sendStep(t *testing.T, order, step string) {
	t.Helper()
	id := []byte(rand.Text())
	now := uint64(time.Now().UnixNano())
	body, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*wire.ResourceSpans{{
		ScopeSpans: []*wire.ScopeSpans{{Spans: []*wire.Span{{
			TraceId: id[:16], SpanId: id[16:24], Name: step, StartTimeUnixNano: now, EndTimeUnixNano: now + 1e6,
			Attributes: []*common.KeyValue{{
				Key: tracing.OrderKey, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: order}},
			}},
		}}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	resp := send(t, s.server, http.MethodPost, s.url+"/v1/traces", body)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("a span is answered %s", resp.Status)
	}
}

// TestLifeShowsLateSteps sends an order from the page. A step that comes after the page has looked for them the first
// times appears without a click.
func TestLifeShowsLateSteps(t *testing.T) {
	s := theStage(t)
	s.stocked(t)
	b := open(t, s.entry())
	b.idle()
	b.press("#life", "Send")
	const late = `document.querySelector("#life .lanes")?.textContent.includes("reconcile")`
	b.await(`document.querySelector("#life input[name=order]").value`)
	order := eval[string](b, `document.querySelector("#life input[name=order]").value`)
	console.Await(t, func() bool { return b.asked("/api/orders/"+order) >= 2 }, func() string {
		return "the page looks only once"
	})
	console.Await(t, func() bool {
		if eval[bool](b, `!!document.querySelector("#life .lanes")`) {
			return true
		}
		b.press("#life", "read again")
		return false
	}, func() string { return "the order has no steps" })
	if eval[bool](b, "!!"+late) {
		t.Fatal("the step is there before it was sent")
	}
	s.sendStep(t, order, "reconcile")
	b.await(late)
	b.clean()
}
