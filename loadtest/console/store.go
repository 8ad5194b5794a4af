package console

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	wire "go.opentelemetry.io/proto/otlp/trace/v1"

	"orderstock/pkg/tracing"
)

// The limits of Traces. The oldest trace is dropped first.
const (
	maxTraces = 1000
	maxSpans  = 60_000
)

// Traces keeps the spans of the last traces. It is safe for concurrent use. Make one with NewTraces.
type Traces struct {
	mu     sync.Mutex
	traces map[string][]Span
	order  []string       // the ids of the traces, the oldest first
	orders map[string]ids // by order id: the traces that contain it
	named  map[string]ids // by trace: the orders in it
	spans  int
}

// ids is a small set in the order of insertion.
type ids []string

func (s ids) with(id string) ids {
	if slices.Contains(s, id) {
		return s
	}
	return append(s, id)
}

// NewTraces returns one that is empty.
func NewTraces() *Traces {
	return &Traces{traces: map[string][]Span{}, orders: map[string]ids{}, named: map[string]ids{}}
}

// laneOf names a process: by its instance, and by its service if the instance does not show it, as in a container.
func laneOf(service, instance string) string {
	if kind, _, _ := strings.Cut(service, "-"); instance != "" && !strings.HasPrefix(instance, kind) {
		return kind + "-" + instance[:min(len(instance), 4)]
	}
	return cmp.Or(instance, service, "?")
}

// Add stores the spans of an OTLP request.
func (s *Traces) Add(received []*wire.ResourceSpans) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, from := range received {
		what := attributes(from.GetResource().GetAttributes())
		lane := laneOf(what["service.name"], what["service.instance.id"])
		for _, scope := range from.GetScopeSpans() {
			for _, one := range scope.GetSpans() {
				s.add(spanOf(one, lane))
			}
		}
	}
	for s.spans > maxSpans || len(s.order) > maxTraces {
		s.forget(s.order[0])
		s.order = s.order[1:]
	}
}

func (s *Traces) add(span Span) {
	if s.traces[span.Trace] == nil {
		s.order = append(s.order, span.Trace)
	}
	s.traces[span.Trace] = append(s.traces[span.Trace], span)
	s.spans++
	for _, key := range []string{tracing.OrderKey, tracing.FlagKey} {
		if id := span.Attributes[key]; id != "" {
			s.orders[id] = s.orders[id].with(span.Trace)
			s.named[span.Trace] = s.named[span.Trace].with(id)
		}
	}
}

func (s *Traces) forget(trace string) {
	s.spans -= len(s.traces[trace])
	delete(s.traces, trace)
	for _, id := range s.named[trace] {
		left := slices.DeleteFunc(s.orders[id], func(t string) bool { return t == trace })
		if s.orders[id] = left; len(left) == 0 {
			delete(s.orders, id)
		}
	}
	delete(s.named, trace)
}

// Order returns the spans of an order: all spans of its traces, and the spans of other traces that served it together
// with other orders. They are sorted by start, a parent before its children. It returns none if the order was not
// traced, or was dropped.
func (s *Traces) Order(id string) []Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []Span{}
	seen := map[Link]bool{}
	keep := func(span Span) {
		if at := (Link{span.Trace, span.ID}); !seen[at] {
			seen[at] = true
			found = append(found, span)
		}
	}
	for _, trace := range s.orders[id] {
		for _, span := range s.traces[trace] {
			keep(span)
		}
	}
	for _, span := range found { // of the order's own traces; spans of other traces are added behind
		if span.Attributes[tracing.SizeKey] != "" {
			continue // its links lead to the other orders that it served
		}
		for _, link := range span.Links {
			if !seen[link] {
				s.below(link, func(span Span) {
					span.Shared = true
					keep(span)
				})
			}
		}
	}
	sortSpans(found)
	return found
}

// below calls keep for the linked span and for all below it, once for each.
func (s *Traces) below(at Link, keep func(Span)) {
	seen := map[string]bool{at.Span: true} // received spans may be each other's parents
	for next := []string{at.Span}; len(next) > 0; next = next[1:] {
		for _, span := range s.traces[at.Trace] {
			if span.ID == next[0] {
				keep(span)
			} else if span.Parent == next[0] && !seen[span.ID] {
				seen[span.ID] = true
				next = append(next, span.ID)
			}
		}
	}
}

// Recent returns the ids of up to n traced orders, the latest first.
func (s *Traces) Recent(n int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	recent := ids{}
	for _, trace := range slices.Backward(s.order) {
		for _, id := range s.named[trace] {
			if len(recent) == n {
				return recent
			}
			recent = recent.with(id)
		}
	}
	return recent
}

// sortSpans sorts spans by start, a parent before its children.
func sortSpans(spans []Span) {
	slices.SortStableFunc(spans, func(a, b Span) int {
		switch {
		case a.StartUS != b.StartUS:
			return cmp.Compare(a.StartUS, b.StartUS)
		case a.ID == b.Parent:
			return -1
		case b.ID == a.Parent:
			return 1
		}
		return cmp.Compare(b.DurationUS, a.DurationUS)
	})
}
