package readme

import (
	"fmt"
	"strings"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/verify"
)

func invariants(sources) (string, error) {
	text := "| invariant | what holds |\n| --- | --- |\n"
	for _, name := range verify.Invariants() {
		text += fmt.Sprintf("| `%s` | %s |\n", name, verify.Says(name))
	}
	return text, nil
}

// caseStudyFaults lists the published faults from the catalogue.
func caseStudyFaults(sources) (string, error) {
	text := "| | fault | how it is right here | test | what brings it back |\n| --- | --- | --- | --- | --- |\n"
	for _, f := range catalogue.Published {
		tests := make([]string, len(f.Tests))
		for i, t := range f.Tests {
			tests[i] = link(t)
		}
		text += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", f.Letter, f.Title, f.Fix, strings.Join(tests, "<br>"),
			link(f.Source))
	}
	return text, nil
}

// link returns a link to a file of the module for the table in resultsDoc.
func link(l catalogue.Link) string { return fmt.Sprintf("[`%s`](../%s)", l.Name, l.File) }
