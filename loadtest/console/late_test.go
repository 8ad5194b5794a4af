//go:build browser

package console_test

import (
	"crypto/rand"
	"fmt"
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
	const looks = 3 // of the page by itself
	var order string
	for range 5 { // a busy machine may need another order
		before := order
		b.press("#life", "Send")
		b.await(fmt.Sprintf(`document.querySelector("#life input[name=order]").value !== %q`, before))
		order = eval[string](b, `document.querySelector("#life input[name=order]").value`)
		looked, pressed := func() int { return b.asked("/api/orders/" + order) }, 0
		console.Await(t, func() bool { return looked() >= 2 }, func() string { return "the page looks only once" })
		console.Await(t, func() bool {
			if eval[bool](b, `!!document.querySelector("#life .lanes")`) {
				return true
			}
			b.press("#life", "read again")
			pressed++
			return false
		}, func() string { return "the order has no steps" })
		if eval[bool](b, lateStep) {
			t.Fatal("the step is there before it was sent")
		}
		s.sendStep(t, order, "reconcile")
		if looked()-pressed < looks {
			break
		}
	}
	b.await(lateStep)
	b.clean()
}

// lateStep is true once the page shows the step of TestLifeShowsLateSteps.
const lateStep = `!!document.querySelector("#life .lanes")?.textContent.includes("reconcile")`
