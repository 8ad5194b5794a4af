package readme

import (
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

// caseStudyFaults lists the published faults from the package tables.
func caseStudyFaults(sources) (string, error) {
	table := report.NewTable("", "fault", "how it is right here", "what brings it back")
	for _, f := range tables.Published {
		table.Add(false, f.Letter, f.Title, f.Fix, "`"+f.Source.Name+"`")
	}
	return table.Markdown(), nil
}
