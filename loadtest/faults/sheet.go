package faults

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"orderstock/loadtest/report"
	"orderstock/loadtest/verify"
)

// Sheet describes the report.
func (r *Report) Sheet() report.Sheet {
	s := report.Sheet{
		Title:    "The fault matrix: each step of an order, broken before and after",
		Sentence: fmt.Sprintf("%d runs, %d orders, %d faults fired", r.Total.Runs, r.Total.Orders, r.Total.Fired),
		Word:     strings.ToUpper(string(r.Verdict)),
		Facts: []report.Fact{
			{Name: "Seeds of each cell", Value: fmt.Sprint(r.Seeds)},
			{Name: "Took", Value: fmt.Sprintf("%.0f s", r.Total.Seconds)},
		},
	}
	table := report.NewTable("Fault", "Runs", "Fired", "Orders", "Confirmed", "Refused", "Violations", "No end",
		"Settled within, ms", "Verdict")
	var bars []report.Bar
	for _, c := range r.Cells {
		name := c.Name()
		table.Add(c.Verdict != verify.Pass, name, c.Runs, c.Fired, c.Orders, c.OK, c.Rejected, c.Violations,
			c.Unsettled, fmt.Sprintf("%.0f", c.SettleP99MS), c.Verdict)
		bars = append(bars, report.Bar{Name: name, Value: c.SettleP99MS})
	}
	slices.SortFunc(bars, func(a, b report.Bar) int { return cmp.Compare(b.Value, a.Value) })
	not := report.NewTable("Cell", "Why it means nothing")
	for _, c := range r.NotApplicable {
		not.Add(false, c.Name(), c.NA)
	}
	if len(r.Cells) > 0 && slices.Contains(clusterFaults, r.Cells[0].Fault) {
		s.Add(r.ofCluster())
	} else {
		s.Add(r.byFault()...)
	}
	s.Add(
		report.Part{
			Title:   "Longest until the last orders had ended",
			Says:    "The time after the repair within which 99 of 100 open orders had ended, in ms.",
			Picture: report.Bars(bars[:min(len(bars), 12)]), Detail: true,
		},
		report.Part{Title: "Every cell", Table: table, Detail: true},
		report.Part{Title: "Cells that do not apply", Table: not, Detail: true},
	)
	return s
}

// slowest is how many faults around the system have a row in a document.
const slowest = 6

// byFault sums the cells up by fault.
func (r *Report) byFault() []report.Part {
	type sum struct {
		Counts
		name   string
		cells  int
		settle float64
	}
	var atSteps, around []*sum
	for _, c := range r.Cells {
		name, of := c.Fault, &atSteps
		if c.Baskets {
			name += ", baskets"
		}
		if c.Step == Around {
			of = &around
		}
		i := slices.IndexFunc(*of, func(s *sum) bool { return s.name == name })
		if i < 0 {
			i, *of = len(*of), append(*of, &sum{name: name})
		}
		s := (*of)[i]
		s.cells++
		s.add(c.Counts)
		s.settle = max(s.settle, c.SettleP99MS)
	}
	bad := func(s *sum) bool { return s.Violations+s.Unsettled > 0 }
	settle := func(s *sum) string {
		text := fmt.Sprintf("%.1f s", s.settle/1000)
		if bad(s) {
			text += fmt.Sprintf(" **(%d violations, %d unsettled)**", s.Violations, s.Unsettled)
		}
		return text
	}
	steps := report.NewTable("fault at a step", "cells", "fired", "slowest p99 to settle")
	slices.SortFunc(atSteps, func(a, b *sum) int { return cmp.Compare(a.name, b.name) })
	for _, s := range atSteps {
		steps.Add(bad(s), s.name, s.cells, s.Fired, settle(s))
	}
	system := report.NewTable("fault around the system", "slowest p99 to settle")
	slices.SortStableFunc(around, func(a, b *sum) int { return cmp.Compare(b.settle, a.settle) })
	var others []*sum
	for i, s := range around {
		if i < slowest || bad(s) {
			system.Add(bad(s), s.name, settle(s))
		} else {
			others = append(others, s)
		}
	}
	if len(others) > 0 {
		system.Add(false, fmt.Sprintf("%d others, alone and in pairs (`loadtest run faults --list`), at most", len(others)),
			settle(others[0]))
	}
	return []report.Part{
		{
			Title: "Faults at a step", Table: steps,
			Says: fmt.Sprintf("%d runs of %d cells, %d orders, faults fired %d times, %d violations,\n"+
				"%d orders left unsettled, %d runs that proved nothing.", r.Total.Runs, len(r.Cells), r.Total.Orders,
				r.Total.Fired, r.Total.Violations, r.Total.Unsettled, r.Total.Unknown),
		},
		{Title: "Faults around the system", Table: system},
	}
}

// ofCluster describes the cells of a cluster.
func (r *Report) ofCluster() report.Part {
	table := report.NewTable("fault", "orders", "confirmed", "rejected", "unknown outcome", "writes again")
	var retried string
	var passed int
	var sum Counts
	for _, c := range r.Cells {
		again := "–"
		if c.WritesAgainS != nil {
			again = fmt.Sprintf("%.1f s", *c.WritesAgainS)
		}
		if c.Retried503+c.RetriedLost > 0 {
			retried += fmt.Sprintf("\nUnder %s, %d orders were answered 503 and %d lost their connection"+
				" before they were served.", c.Fault, c.Retried503, c.RetriedLost)
		}
		if c.Verdict == verify.Pass {
			passed++
		}
		sum.add(c.Counts)
		table.Add(c.Verdict != verify.Pass, c.Fault, c.Orders, c.OK, c.Rejected, c.UnknownToClient,
			again+report.Unless(c.Verdict))
	}
	return report.Part{
		Title: "Faults of a cluster", Table: table,
		Says: fmt.Sprintf("%d of %d cells pass, %d violations, %d orders left unsettled.%s",
			passed, len(r.Cells), sum.Violations, sum.Unsettled, retried),
	}
}

// Whole reports whether the report has all cells of the matrix, or is of a cluster.
func (r *Report) Whole() bool {
	return len(r.Cells)+len(r.NotApplicable) >= len(Cells()) ||
		len(r.Cells) > 0 && slices.Contains(clusterFaults, r.Cells[0].Fault)
}
