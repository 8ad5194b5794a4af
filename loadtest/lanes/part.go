package lanes

import (
	"fmt"
	"strings"

	"orderstock/loadtest/report"
)

// Part returns the scene as a part of a report: a table with a column for each lane. Of no scene, it is empty.
func (s *Scene) Part(title string) report.Part {
	p := report.Part{Title: title, Table: report.NewTable("")}
	if s == nil {
		return p
	}
	p.Table.Head = append([]string{"After"}, s.Names()...)
	for _, step := range s.Steps {
		cells := make([]any, len(p.Table.Head))
		for i := range cells {
			cells[i] = ""
		}
		lines := step.Lines()
		cells[0], cells[step.Lane+1] = step.Time(), lines[0]
		for _, more := range lines[1:] {
			cells[step.Lane+1] = fmt.Sprintf("%s **%s**", cells[step.Lane+1], more)
		}
		p.Table.Add(step.Wrong != "", cells...)
	}
	if s.Books != "" {
		p.Says = "The books: " + s.Books + "."
	}
	p.Says = strings.TrimSpace(p.Says + "\n" + s.Says)
	return p
}
