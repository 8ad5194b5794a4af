package readme

import (
	"fmt"
	"path"
	"strings"

	"orderstock/loadtest/report"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/verify"
)

func invariants(sources) (string, error) {
	table := report.NewTable("invariant", "what holds")
	for _, name := range verify.Invariants() {
		table.Add(false, "`"+name+"`", verify.Says(name))
	}
	return table.Markdown(), nil
}

// broken lists the changes of the broken variant of a fault.
func broken(f tables.Fault) string {
	var names []string
	for _, c := range f.Changes(tables.Broken) {
		names = append(names, "`"+c.Name+"`")
	}
	return strings.Join(names, ", ")
}

// caseStudyFaults lists the published faults from the package tables.
func caseStudyFaults(sources) (string, error) {
	table := report.NewTable("", "fault", "how it is right here", "changes of the broken variant")
	for _, f := range tables.Published {
		table.Add(false, fmt.Sprintf("[%s](faults/%s)", f.Letter, path.Base(f.PageFile())), f.Title, f.Fix, broken(f))
	}
	return table.Markdown(), nil
}
