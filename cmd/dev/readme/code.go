package readme

import (
	"fmt"

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
	text := "| | fault | how it is right here | what brings it back |\n| --- | --- | --- | --- |\n"
	for _, f := range catalogue.Published {
		text += fmt.Sprintf("| %s | %s | %s | `%s` |\n", f.Letter, f.Title, f.Fix, f.Source.Name)
	}
	return text, nil
}
