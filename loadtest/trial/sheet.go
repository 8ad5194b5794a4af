package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"orderstock/loadtest/report"
	"orderstock/loadtest/verify"
)

// Around, OnCluster and InStorm are the groups of the experiments that break the system around an order, a cluster, and
// everything.
const (
	Around    = "around"
	OnCluster = "cluster"
	InStorm   = "storm"
)

// Sheet describes the report.
func (r *Report) Sheet() report.Sheet {
	s := report.Sheet{
		Title:    "The fault matrix: each step of an order, broken before and after",
		Sentence: report.English.Sprintf("%d runs, %d orders, %d faults fired", r.Total.Runs, r.Total.Orders, r.Total.Fired),
		Word:     strings.ToUpper(string(r.Verdict)),
		Facts: []report.Fact{
			{Name: "Seeds of each row", Value: report.English.Sprint(r.Seeds)},
			{Name: "Runs that proved nothing", Value: report.English.Sprintf("%d of %d", r.Total.Unknown, r.Total.Runs)},
			{Name: "Violations", Value: report.English.Sprint(r.Total.Violations)},
			{Name: "Orders without an end", Value: report.English.Sprint(r.Total.Unsettled)},
			{Name: "Took", Value: report.English.Sprintf("%.0f s", r.Total.Seconds)},
		},
	}
	for _, row := range r.Rows {
		for _, says := range row.Says {
			s.Facts = append(s.Facts, report.Fact{Name: row.Name, Value: says})
		}
	}
	switch {
	case slices.ContainsFunc(r.Rows, func(row *Row) bool { return row.Expect != (Expect{}) }):
		s.Title = "Broken variants of the services, each of which must be caught"
		s.Sentence = report.English.Sprintf("%d of %d as expected", len(r.Rows)-len(r.wrong()), len(r.Rows))
		s.Add(r.byCatcher(s.Sentence)...)
	case len(r.Rows) > 0 && r.Rows[0].Group == OnCluster:
		s.Add(r.ofCluster())
	case len(r.Rows) > 0 && r.Rows[0].Group == InStorm:
		s.Title = "A storm: everything breaks while orders come"
	default:
		s.Add(r.byFault()...)
	}
	s.Add(
		report.Part{
			Title: "Not as expected", Table: report.TableOf(r.wrong(), "Experiment", "Runs", "Proved nothing", "Violations",
				"No end", "Caught by", "Expected", "Verdict"),
		},
		report.Part{Title: "Every experiment", Detail: true, Table: report.TableOf(r.Rows, "Experiment", "Group", "Runs",
			"Fired", "Orders", "Confirmed", "Refused", "Violations", "No end", "Settled within, ms", "Caught by", "Verdict")},
	)
	return s
}

// Outcome returns the verdict.
func (r *Report) Outcome() verify.Outcome { return r.Verdict }

// wrong returns the rows that are not as expected.
func (r *Report) wrong() []*Row {
	return slices.DeleteFunc(slices.Clone(r.Rows), func(row *Row) bool { return !row.Wrong() })
}

// slowest is how many faults around the system have a row in a document.
const slowest = 6

// bad reports whether there are violations or unsettled orders, also where they are expected.
func (row *Row) bad() bool { return row.Violations+row.Unsettled > 0 }

// settled returns how long orders took to end, with the violations.
func (row *Row) settled() string {
	text := fmt.Sprintf("%.1f s", row.SettleP99MS/1000)
	if row.bad() {
		text += report.English.Sprintf(" **(%d violations, %d unsettled)**", row.Violations, row.Unsettled)
	}
	return text
}

// byFault sums the cells at a step up by fault, and lists the faults around the system.
func (r *Report) byFault() []report.Part {
	var atSteps, around, others []*Row
	cells := map[string]int{}
	for _, row := range r.Rows {
		if row.Group == Around {
			around = append(around, row)
			continue
		}
		i := slices.IndexFunc(atSteps, func(sum *Row) bool { return sum.Group == row.Group })
		if i < 0 {
			i, atSteps = len(atSteps), append(atSteps, &Row{Experiment: Experiment{Group: row.Group}})
		}
		sum := atSteps[i]
		cells[sum.Group]++
		sum.Counts.add(row.Counts)
		sum.SettleP99MS = max(sum.SettleP99MS, row.SettleP99MS)
	}
	steps := report.NewTable("fault at a step", "cells", "fired", "slowest p99 to settle")
	slices.SortFunc(atSteps, func(a, b *Row) int { return cmp.Compare(a.Group, b.Group) })
	for _, sum := range atSteps {
		steps.Add(sum.bad(), sum.Group, cells[sum.Group], sum.Fired, sum.settled())
	}
	system := report.NewTable("fault around the system", "slowest p99 to settle")
	slices.SortStableFunc(around, func(a, b *Row) int { return cmp.Compare(b.SettleP99MS, a.SettleP99MS) })
	for i, row := range around {
		if i < slowest || row.bad() {
			system.Add(row.bad(), row.fault(), row.settled())
		} else {
			others = append(others, row)
		}
	}
	if len(others) > 0 {
		system.Add(false, report.English.Sprintf("%d others, alone and in pairs (`loadtest run faults --list`), at most",
			len(others)), others[0].settled())
	}
	return []report.Part{
		{
			Title: "Faults at a step", Table: steps,
			Says: report.English.Sprintf("%d runs of %d cells, %d orders, faults fired %d times, %d violations,\n"+
				"%d orders left unsettled, %d runs that proved nothing.", r.Total.Runs, len(r.Rows), r.Total.Orders,
				r.Total.Fired, r.Total.Violations, r.Total.Unsettled, r.Total.Unknown),
		},
		{Title: "Faults around the system", Table: system},
	}
}

// fault returns the last part of the name of a cell: "redis-down" of "around/during/redis-down".
func (e Experiment) fault() string { return e.Name[strings.LastIndex(e.Name, "/")+1:] }

// ofCluster describes the faults of a cluster.
func (r *Report) ofCluster() report.Part {
	table := report.NewTable("fault", "orders", "confirmed", "rejected", "unknown outcome", "writes again")
	var retried string
	for _, row := range r.Rows {
		again := "–"
		if row.WritesAgainS != nil {
			again = fmt.Sprintf("%.1f s", *row.WritesAgainS)
		}
		if row.Retried503+row.RetriedLost > 0 {
			retried += report.English.Sprintf("\nRepeated under %s until they were served: %d after a 503, %d after "+
				"a lost connection.", row.fault(), row.Retried503, row.RetriedLost)
		}
		table.Add(row.Wrong(), row.fault(), row.Orders, row.OK, row.Rejected, row.UnknownToClient,
			again+report.Unless(row.Verdict))
	}
	return report.Part{
		Title: "Faults of a cluster", Table: table,
		Says: report.English.Sprintf("%d of %d cells pass, %d violations, %d orders left unsettled.%s",
			len(r.Rows)-len(r.wrong()), len(r.Rows), r.Total.Violations, r.Total.Unsettled, retried),
	}
}

// byCatcher has a row for each requirement that caught mutants, and one for each layer that absorbed one.
func (r *Report) byCatcher(says string) []report.Part {
	var names, controls []string
	by := map[string][]string{}
	absorbed := report.NewTable("layer removed", "absorbed by")
	says += "."
	for _, row := range r.Rows {
		for _, line := range row.Says {
			says += report.English.Sprintf("\n%s: %s.", row.Name, line)
		}
		switch {
		case row.Wrong():
		case row.Expect.Absorbed == Control:
			controls = append(controls, strings.TrimPrefix(row.Name, "nothing broken, "))
		case row.Expect.Absorbed != "":
			absorbed.Add(false, row.Name, row.Expect.Absorbed)
		case row.CaughtBy != "":
			if by[row.CaughtBy] == nil {
				names = append(names, row.CaughtBy)
			}
			by[row.CaughtBy] = append(by[row.CaughtBy], row.Name)
		}
	}
	caught := report.NewTable("caught by", "defects")
	for _, name := range names {
		caught.Add(false, "`"+name+"`", some(by[name]))
	}
	if len(controls) > 0 {
		caught.Add(false, "nothing", "controls, with nothing broken: "+some(controls))
	}
	return []report.Part{
		{Title: "What caught them", Says: says, Table: caught}, {Title: "Layers", Table: absorbed},
	}
}

// some returns the first three names and how many there are.
func some(names []string) string {
	if n := len(names) - 3; n > 1 {
		names = append(slices.Clone(names[:3]), report.English.Sprintf("%d others", n))
	}
	return strings.Join(names, "; ")
}
