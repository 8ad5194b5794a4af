package mutants

import (
	"fmt"
	"slices"
	"strings"

	"orderstock/loadtest/report"
)

// Sheet describes the report: a row for each invariant that caught mutants, and one for each layer that absorbed one.
func (r *Report) Sheet() report.Sheet {
	ok := 0
	var names []string
	by := map[string][]string{}
	absorbed := report.NewTable("layer removed", "absorbed by")
	every := report.NewTable("Mutant", "Kind", "Fault", "Expected", "Caught by")
	unexpected, controls := "", []string(nil)
	for _, row := range r.Rows {
		if row.OK {
			ok++
		}
		every.Add(!row.OK, row.Mutant, row.Kind, row.Cell, row.Expected, row.CaughtBy)
		layer, isAbsorbed := strings.CutPrefix(row.CaughtBy, "absorbed by ")
		switch {
		case !row.OK:
			unexpected += fmt.Sprintf("\n**%s**: caught by %s, expected %s.", row.Mutant, row.CaughtBy, row.Expected)
		case layer == Control:
			controls = append(controls, strings.TrimPrefix(row.Mutant, "nothing broken, "))
		case isAbsorbed:
			absorbed.Add(false, row.Mutant, layer)
		default:
			if by[row.CaughtBy] == nil {
				names = append(names, row.CaughtBy)
			}
			by[row.CaughtBy] = append(by[row.CaughtBy], row.Mutant)
		}
	}
	caught := report.NewTable("caught by", "defects")
	for _, name := range names {
		caught.Add(false, "`"+name+"`", some(by[name]))
	}
	if len(controls) > 0 {
		caught.Add(false, "nothing", "controls, with nothing broken: "+some(controls))
	}
	s := report.Sheet{
		Title: "Broken variants of the services, each of which must be caught", Word: "VIOLATION",
		Sentence: fmt.Sprintf("%d of %d as expected", ok, len(r.Rows)),
	}
	if r.OK() {
		s.Word = "PASS"
	}
	says := s.Sentence + "."
	if r.Changes != nil {
		says += fmt.Sprintf("\nRandom changes to good runs: %s.", r.Changes)
	}
	s.Add(
		report.Part{Title: "What caught them", Says: says + unexpected, Table: caught},
		report.Part{Title: "Layers", Table: absorbed},
		report.Part{Title: "Every mutant", Table: every, Detail: true},
	)
	return s
}

// some returns the first three names and how many there are.
func some(names []string) string {
	if n := len(names) - 3; n > 1 {
		names = append(slices.Clone(names[:3]), fmt.Sprintf("%d others", n))
	}
	return strings.Join(names, "; ")
}
