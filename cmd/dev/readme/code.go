package readme

import (
	"fmt"
	"path"
	"strings"

	"orderstock/loadtest/report"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/texts"
	"orderstock/loadtest/verify"
)

func invariants(sources) (string, error) {
	table := report.NewTable("invariant", "what holds")
	for _, name := range verify.Invariants() {
		table.Add(false, "`"+name+"`", verify.Says(name))
	}
	return table.Markdown(), nil
}

// names lists changes by their names.
func names(changes []tables.Change) string {
	var all []string
	for _, c := range changes {
		all = append(all, "`"+c.Name+"`")
	}
	return strings.Join(all, ", ")
}

// caseStudyFaults lists the published faults from the package tables.
func caseStudyFaults(sources) (string, error) {
	table := report.NewTable("", "fault", "how it is right here", "what brings it back", "and on both sides")
	for _, f := range tables.Published {
		broken, both := f.Difference()
		table.Add(false, fmt.Sprintf("[%s](faults/%s)", f.Letter, path.Base(f.PageFile())), f.Title, f.Fix,
			names(broken), names(both))
	}
	return table.Markdown(), nil
}

// faultsIn lists the published faults in a language for the README under .github in it.
func faultsIn(l *texts.Language) func(sources) (string, error) {
	return func(sources) (string, error) {
		table := report.NewTable("", l.Say("fault"), l.Say("How it is right here"))
		for _, f := range tables.Published {
			table.Add(false, fmt.Sprintf("[%s](../%s)", f.Letter, l.File(f.PageFile())), l.Say(f.Title), l.Say(f.Fix))
		}
		return table.Markdown(), nil
	}
}
