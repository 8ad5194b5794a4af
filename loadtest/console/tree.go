package console

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// WriteSpans prints the spans of an order as a tree, in the order of their start. Work that served several orders
// appears below the step that waited for it.
func WriteSpans(w io.Writer, spans []Span) error {
	spans = slices.Clone(spans)
	sortSpans(spans)
	if len(spans) == 0 {
		return nil
	}
	children, roots := nest(spans)
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "at\ttook\tprocess\t  step")
	var print func(span Span, branch, below string)
	print = func(span Span, branch, below string) {
		fmt.Fprintf(table, "%s\t%s\t%s\t  %s%s\n",
			millis(span.StartUS-spans[0].StartUS), millis(span.DurationUS), span.Lane, branch, span.words())
		for i, child := range children[linkTo(span)] {
			if i == len(children[linkTo(span)])-1 {
				print(child, below+"└ ", below+"  ")
			} else {
				print(child, below+"├ ", below+"│ ")
			}
		}
	}
	for _, root := range roots {
		print(root, "", "")
	}
	return table.Flush()
}

func linkTo(s Span) Link { return Link{s.Trace, s.ID} }

// nest returns the children of each span, and the spans without a parent among them. A shared span whose parent is not
// among them is the child of the first of the order's spans with a link to it.
func nest(spans []Span) (children map[Link][]Span, roots []Span) {
	parents := map[Link]Link{}
	for _, span := range spans {
		parents[linkTo(span)] = Link{}
	}
	linked := map[Link]Link{}
	for _, span := range spans {
		if parent := (Link{span.Trace, span.Parent}); has(parents, parent) {
			parents[linkTo(span)] = parent
		}
		for _, link := range span.Links {
			if !span.Shared && !has(linked, link) {
				linked[link] = linkTo(span)
			}
		}
	}
	children = map[Link][]Span{}
	for _, span := range spans {
		parent := parents[linkTo(span)]
		if parent == (Link{}) && span.Shared {
			parent = linked[linkTo(span)]
		}
		if parent == (Link{}) {
			roots = append(roots, span)
		} else {
			children[parent] = append(children[parent], span)
		}
	}
	return children, roots
}

func has[V any](m map[Link]V, key Link) bool {
	_, ok := m[key]
	return ok
}

// words is the span's name with its other notable properties.
func (s Span) words() string {
	text := s.Name
	for _, key := range []string{"http.response.status_code", "status", "state", "to", "token", "callers"} {
		if value := s.Attributes[key]; value != "" && (key != "callers" || value != "1") {
			text += " " + strings.TrimPrefix(key, "http.response.") + "=" + value
		}
	}
	for _, e := range s.Events {
		if e.Name != "exception" {
			text += fmt.Sprintf(" [%s at +%s", e.Name, millis(e.AtUS-s.StartUS))
			for _, key := range slices.Sorted(maps.Keys(e.Attributes)) {
				text += " " + key + "=" + e.Attributes[key]
			}
			text += "]"
		}
	}
	if s.Error != "" {
		text += " ✗ " + s.Error
	}
	return text
}

func millis(us int64) string { return fmt.Sprintf("%.2f ms", float64(us)/1000) }
