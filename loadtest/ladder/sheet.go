package ladder

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"slices"

	"orderstock/loadtest/report"
	"orderstock/loadtest/verify"
	"orderstock/pkg/command"
)

// Sheet returns the report of the run.
func (r *Result) Sheet() report.Sheet {
	s := report.Sheet{
		Title: "The deduction strategies compared", Word: r.word(),
		Facts: []report.Fact{
			{Name: "Database", Value: r.Server}, {Name: "Machine", Value: r.Machine}, {Name: "Date", Value: r.Date},
		},
	}
	if len(r.Rows) > 0 {
		best := slices.MaxFunc(r.Rows, func(a, b Row) int { return cmp.Compare(a.DonePerS, b.DonePerS) })
		s.Sentence = fmt.Sprintf("%s: up to %.0f sales a second", best.Strategy, best.DonePerS)
	}
	table := &report.Table{Head: []string{
		"Strategy", "Path", "Replicas", "Products", "Clients", "Sales a second", "Refused a second", "p50 ms", "p99 ms",
		"Wake-ups", "Verdict",
	}}
	for _, row := range r.Rows {
		table.Add(row.Verdict != verify.Pass, row.Strategy, row.Path, row.Replicas, row.Goods, row.Clients,
			fmt.Sprintf("%.0f", row.DonePerS), fmt.Sprintf("%.0f", row.RejectedPerS), fmt.Sprintf("%.1f", row.P50MS),
			fmt.Sprintf("%.1f", row.P99MS), fmt.Sprintf("%.2f", row.WakeupsPerRelease), row.Verdict)
	}
	s.Parts = []report.Part{
		{
			Title:   "One product that everybody wants",
			Picture: template.HTML(r.SVG()), // it is escaped
		},
		{Title: "Every row", Says: "Only ratios between rows of one run mean anything.", Table: table},
	}
	if len(r.Ratios) > 0 {
		ratios := &report.Table{Head: []string{"Target of the default strategy", "Measured", "At least"}}
		for _, ratio := range r.Ratios {
			ratios.Add(!ratio.OK, ratio.Name, fmt.Sprintf("%.2f", ratio.Value), fmt.Sprintf("%.2f", ratio.Want))
		}
		s.Parts = append(s.Parts, report.Part{Title: "Ratios", Table: ratios})
	}
	return s
}

// word returns the worst verdict in the ladder, as a word.
func (r *Result) word() string {
	err := r.Judge(false)
	switch _, failed := errors.AsType[*command.ExitError](err); {
	case failed:
		return "VIOLATION"
	case err != nil:
		return "UNKNOWN"
	case r.Judge(true) != nil:
		return "MISSED"
	}
	return "PASS"
}
