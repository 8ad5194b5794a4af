package console

import (
	"encoding/hex"
	"fmt"
	"strconv"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Span is one step of an order, or work that holds steps.
type Span struct {
	Trace  string `json:"trace"`
	ID     string `json:"id"`
	Parent string `json:"parent,omitempty"`
	Name   string `json:"name"`
	// Lane is the process, such as "order-1".
	Lane string `json:"lane"`
	// StartUS is the time of its start, in microseconds since 1970.
	StartUS    int64             `json:"start_us"`
	DurationUS int64             `json:"duration_us"`
	Error      string            `json:"error,omitempty"`
	Attributes map[string]string `json:"attributes"`
	Events     []Event           `json:"events,omitempty"`
	Links      []Link            `json:"links,omitempty"`
	// Shared marks work that belongs to another order's trace and served this order, too.
	Shared bool `json:"shared,omitempty"`
}

// Event is an event within a span.
type Event struct {
	Name       string            `json:"name"`
	AtUS       int64             `json:"at_us"`
	Attributes map[string]string `json:"attributes,omitempty"`
}

// Link names a related span, often of another trace.
type Link struct {
	Trace string `json:"trace"`
	Span  string `json:"span"`
}

// spanOf converts a received span.
func spanOf(s *wire.Span, lane string) Span {
	read := Span{
		Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
		Parent: hex.EncodeToString(s.GetParentSpanId()), Name: s.GetName(), Lane: lane,
		StartUS:    micros(s.GetStartTimeUnixNano()),
		DurationUS: max(0, micros(s.GetEndTimeUnixNano())-micros(s.GetStartTimeUnixNano())),
		Attributes: attributes(s.GetAttributes()),
	}
	if s.GetStatus().GetCode() == wire.Status_STATUS_CODE_ERROR {
		read.Error = s.GetStatus().GetMessage()
	}
	for _, e := range s.GetEvents() {
		event := Event{e.GetName(), micros(e.GetTimeUnixNano()), attributes(e.GetAttributes())}
		read.Events = append(read.Events, event)
		if e.GetName() == "exception" && read.Error == "" {
			read.Error = event.Attributes["exception.message"]
		}
	}
	if read.Error == "" && s.GetStatus().GetCode() == wire.Status_STATUS_CODE_ERROR {
		read.Error = "failed"
	}
	for _, l := range s.GetLinks() {
		read.Links = append(read.Links, Link{hex.EncodeToString(l.GetTraceId()), hex.EncodeToString(l.GetSpanId())})
	}
	return read
}

func micros(nanos uint64) int64 { return int64(nanos / 1000) }

func attributes(all []*common.KeyValue) map[string]string {
	read := make(map[string]string, len(all))
	for _, kv := range all {
		switch v := kv.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			read[kv.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			read[kv.GetKey()] = strconv.FormatInt(v.IntValue, 10)
		case *common.AnyValue_BoolValue:
			read[kv.GetKey()] = strconv.FormatBool(v.BoolValue)
		case *common.AnyValue_DoubleValue:
			read[kv.GetKey()] = strconv.FormatFloat(v.DoubleValue, 'g', -1, 64)
		default:
			read[kv.GetKey()] = fmt.Sprint(kv.GetValue())
		}
	}
	return read
}
