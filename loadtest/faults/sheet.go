package faults

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"orderstock/loadtest/report"
	"orderstock/loadtest/verify"
)

// Sheet returns the report of the matrix as a page.
func (r *Report) Sheet() report.Sheet {
	s := report.Sheet{
		Title:    "The fault matrix: each step of an order, broken before and after",
		Sentence: fmt.Sprintf("%d runs, %d orders, %d faults fired", r.Total.Runs, r.Total.Orders, r.Total.Fired),
		Word:     strings.ToUpper(string(r.Verdict)),
		Facts: []report.Fact{
			{Name: "Seeds of each cell", Value: fmt.Sprint(r.Seeds)},
			{Name: "Violations", Value: fmt.Sprint(r.Total.Violations)},
			{Name: "Orders without an end", Value: fmt.Sprint(r.Total.Unsettled)},
			{Name: "Runs that prove nothing", Value: fmt.Sprint(r.Total.Unknown)},
			{Name: "Took", Value: fmt.Sprintf("%.0f s", r.Total.Seconds)},
		},
	}
	table := &report.Table{Head: []string{
		"Fault", "Runs", "Fired", "Orders", "Confirmed", "Refused", "Violations", "No end", "Settled within, ms",
		"Verdict",
	}}
	var bars []report.Bar
	for _, c := range r.Cells {
		name := c.Name()
		table.Add(c.Verdict != verify.Pass, name, c.Runs, c.Fired, c.Orders, c.OK, c.Rejected, c.Violations,
			c.Unsettled, fmt.Sprintf("%.0f", c.SettleP99MS), c.Verdict)
		bars = append(bars, report.Bar{Name: name, Value: c.SettleP99MS})
	}
	slices.SortFunc(bars, func(a, b report.Bar) int { return cmp.Compare(b.Value, a.Value) })
	not := &report.Table{Head: []string{"Cell", "Why it means nothing"}}
	for _, c := range r.NotApplicable {
		not.Add(false, c.Name(), c.NA)
	}
	s.Parts = []report.Part{
		{
			Title:   "Longest until the last orders had ended",
			Says:    "The time after the repair within which 99 of 100 open orders had ended, in ms.",
			Picture: report.Bars(bars[:min(len(bars), 12)]),
		},
		{Title: "Every cell", Table: table},
		{Title: "Cells that do not apply", Table: not},
	}
	return s
}
