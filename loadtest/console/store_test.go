package console_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"

	"orderstock/loadtest/console"
)

func text(key, value string) *common.KeyValue {
	return &common.KeyValue{
		Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}},
	}
}

// export is a process's export: spans of one lane.
func export(lane string, spans ...*wire.Span) []*wire.ResourceSpans {
	return []*wire.ResourceSpans{{
		Resource:   &resource.Resource{Attributes: []*common.KeyValue{text("service.instance.id", lane)}},
		ScopeSpans: []*wire.ScopeSpans{{Spans: spans}},
	}}
}

// span is one of a trace; ids are single bytes.
func span(trace, id, parent byte, name string, at uint64, attributes ...*common.KeyValue) *wire.Span {
	s := &wire.Span{
		TraceId: bytes.Repeat([]byte{trace}, 16), SpanId: bytes.Repeat([]byte{id}, 8), Name: name,
		StartTimeUnixNano: at * 1_000_000, EndTimeUnixNano: (at + 2) * 1_000_000, Attributes: attributes,
	}
	if parent != 0 {
		s.ParentSpanId = bytes.Repeat([]byte{parent}, 8)
	}
	return s
}

func linked(s *wire.Span, trace, id byte) *wire.Span {
	s.Links = append(s.Links, &wire.Span_Link{
		TraceId: bytes.Repeat([]byte{trace}, 16), SpanId: bytes.Repeat([]byte{id}, 8),
	})
	return s
}

// An order whose transaction is in another's trace still has its steps, below the step that waited.
func TestTreeHasSharedWork(t *testing.T) {
	t.Parallel()
	s := console.NewTraces()
	s.Add(export("stock-1",
		span(1, 1, 0, "deduct", 1, text("flag", "100")),
		linked(span(1, 2, 1, "group", 2, text("callers", "2")), 2, 1),
		span(1, 3, 2, "commit", 3),
		linked(span(2, 1, 0, "deduct", 1, text("flag", "200")), 1, 2)))
	spans := s.Order("200")
	var tree strings.Builder
	if err := console.WriteSpans(&tree, spans); err != nil {
		t.Fatal(err)
	}
	want := "at     took  process  step\n" +
		"  0.00 ms  2.00 ms  stock-1  deduct\n" +
		"  1.00 ms  2.00 ms  stock-1  └ group callers=2\n" +
		"  2.00 ms  2.00 ms  stock-1    └ commit\n"
	if got := strings.TrimLeft(tree.String(), " "); got != want {
		t.Errorf("the tree is\n%s\nwant\n%s", got, want)
	}
	if len(s.Order("100")) != 3 || len(s.Order("300")) != 0 {
		t.Errorf("%d and %d spans, want 3 and 0", len(s.Order("100")), len(s.Order("300")))
	}
}

// A sender may make spans each other's parents.
func TestSpansInACircleAreKeptOnce(t *testing.T) {
	t.Parallel()
	s := console.NewTraces()
	s.Add(export("stock-1",
		span(1, 2, 4, "group", 2),
		span(1, 3, 2, "commit", 3),
		span(1, 4, 3, "wait", 4),
		linked(span(2, 1, 0, "deduct", 1, text("flag", "200")), 1, 2)))
	if spans := s.Order("200"); len(spans) != 4 {
		t.Errorf("the order has the spans %+v, want 4", spans)
	}
}

// The store forgets the oldest traces, with the orders in them.
func TestTracesAreBounded(t *testing.T) {
	t.Parallel()
	s := console.NewTraces()
	for i := range 1100 {
		one := span(0, 1, 0, "place", 1, text("order_id", strconv.Itoa(i)))
		one.TraceId = []byte("0123456789ab" + strconv.Itoa(1000+i))
		s.Add(export("client", one))
	}
	if len(s.Order("0")) != 0 || len(s.Order("99")) != 0 || len(s.Order("100")) != 1 || len(s.Order("1099")) != 1 {
		t.Errorf("of the first order %d spans, of the last %d; want 0 and 1", len(s.Order("0")), len(s.Order("1099")))
	}
	if recent := s.Recent(2); len(recent) != 2 || recent[0] != "1099" {
		t.Errorf("recent are %v", recent)
	}
}

// The output of a Collector's file exporter can be read.
//
// TestLanes: each names a process by its service, also where the instance is a container's id.
func TestLanes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ service, instance, want string }{
		{"order-service", "order-1", "order-1"},
		{"stock-service", "3f2a71c09b1e", "stock-3f2a"},
		{"client", "client", "client"},
		{"", "order-1", "order-1"},
	} {
		s := console.NewTraces()
		received := export(test.instance, span(1, 1, 0, "place", 1, text("order_id", "7")))
		if test.service != "" {
			what := received[0].GetResource()
			what.Attributes = append(what.Attributes, text("service.name", test.service))
		}
		if s.Add(received); s.Order("7")[0].Lane != test.want {
			t.Errorf("%+v: lane %q", test, s.Order("7")[0].Lane)
		}
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	s := console.NewTraces()
	line := `{"resourceSpans":[{` +
		`"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"order-service"}}]},` +
		`"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"place",` +
		`"startTimeUnixNano":"1544712660000000000","endTimeUnixNano":"1544712661000000000","kind":2,` +
		`"attributes":[{"key":"order_id","value":{"stringValue":"7"}}],"status":{"code":2,"message":"stale"}}]}]}]}` + "\n"
	if err := s.Read(strings.NewReader(line + "\n" + line)); err != nil {
		t.Fatal(err)
	}
	spans := s.Order("7")
	if len(spans) == 0 || spans[0].Trace != "5b8efff798038103d269b633813fc60c" || spans[0].Lane != "order-service" ||
		spans[0].Error != "stale" || spans[0].DurationUS != 1_000_000 {
		t.Errorf("read %+v", spans)
	}
	if err := s.Read(strings.NewReader(line + "{\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a broken line: %v; want it named", err)
	}
}

// Anything but an export is refused, and nothing is kept.
func TestReceiverRefusesUnreadableSpans(t *testing.T) {
	t.Parallel()
	s := console.NewTraces()
	for _, test := range []struct {
		kind, coding, body string
		want               int
	}{
		{"application/json", "", "{}", http.StatusUnsupportedMediaType},
		{"application/x-protobuf", "", "no protobuf", http.StatusBadRequest},
		{"application/x-protobuf", "gzip", "no gzip", http.StatusBadRequest},
		{"application/x-protobuf", "", strings.Repeat("x", 17<<20), http.StatusBadRequest},
		{"application/x-protobuf", "", "", http.StatusOK},
	} {
		r := httptest.NewRequest(http.MethodPost, "/v1/traces", strings.NewReader(test.body))
		r.Header.Set("Content-Type", test.kind)
		r.Header.Set("Content-Encoding", test.coding)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != test.want {
			t.Errorf("%s %s of %d bytes: %d, want %d", test.kind, test.coding, len(test.body), w.Code, test.want)
		}
	}
	if kept := s.Recent(10); len(kept) != 0 {
		t.Errorf("kept: %v", kept)
	}
}
