package readme

import (
	"fmt"
	"path"
	"slices"
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

// caseStudyFaults lists the published faults from the catalogue. A test is linked by its folder, since its name begins
// with the fault's letter.
func caseStudyFaults(sources) (string, error) {
	text := "| | fault | how it is right here | tests | what brings it back |\n| --- | --- | --- | --- | --- |\n"
	for _, f := range catalogue.Published {
		var tests []string
		for _, t := range f.Tests {
			t.Name = path.Base(path.Dir(t.File))
			if l := link(t); !slices.Contains(tests, l) {
				tests = append(tests, l)
			}
		}
		text += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", f.Letter, f.Title, f.Fix, strings.Join(tests, ", "),
			link(f.Source))
	}
	return text, nil
}

// link returns a link to a file of the module for the table in resultsDoc.
func link(l catalogue.Link) string {
	file, inside := strings.CutPrefix(l.File, path.Dir(resultsDoc)+"/")
	if !inside {
		file = "../" + file
	}
	return fmt.Sprintf("[`%s`](%s)", l.Name, file)
}
