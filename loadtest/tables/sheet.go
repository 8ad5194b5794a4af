package tables

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"orderstock/loadtest/report"
	"orderstock/loadtest/trial"
)

// Sheet is the report of the run.
func (r *Record) Sheet() report.Sheet {
	head := r.Run.Headline()
	s := report.Sheet{Title: r.Run.Title, Sentence: head.Sentence, Word: head.Word, Translated: true, Facts: []report.Fact{
		{Name: "Run", Value: r.Run.ID},
		{Name: "At", Value: r.Run.At.Format("2006-01-02 15:04:05") + " UTC"},
		{Name: "Fault", Value: strings.Trim(r.Run.Fault+", "+string(r.Run.Variant), ", ")},
		{Name: "Strategy", Value: r.Run.Strategy},
		{Name: "Seed", Value: fmt.Sprint(r.Run.Seed)},
		{Name: "Orders", Value: report.English.Sprint(r.Run.Orders)},
		{Name: "Rate", Value: report.PerS(r.Run.OrdersPerS) + " orders/s"},
		{Name: "99 of 100 within", Value: fmt.Sprintf("%.0f ms", r.Run.P99MS)},
		{Name: "What broke", Value: cmp.Or(strings.Join(r.Run.Faults, ", "), "nothing")},
		{Name: "Command", Value: r.command()},
	}}
	s.Add(r.Scene.Part("What happened"))
	s.Add(report.Part{Title: "The books", Says: r.Books.Unequal, Table: report.TableOf(r.Books.Rows)})
	if r.Verdict != nil {
		table := report.NewTable("What must hold", "Times broken", "For example")
		for _, i := range r.Verdict.Invariants {
			example := ""
			if len(i.Sample) > 0 {
				example = i.Sample[0]
			}
			table.Add(i.Violations > 0, i.Says, i.Violations, example)
		}
		says := []string{r.Verdict.String(), fmt.Sprintf("Of %d things that must hold, %d hold.",
			len(r.Verdict.Invariants), len(r.Verdict.Invariants)-len(r.Verdict.Violated()))}
		s.Add(report.Part{Title: "The verdict", Says: strings.Join(append(says, r.Verdict.Reasons...), "\n"), Table: table})
	}
	if c := r.Compare; c != nil {
		rate := func(rate float64) string {
			if rate > 0 {
				return report.PerS(rate)
			}
			return "not run yet"
		}
		table := report.NewTable("", "How", c.What)
		table.Add(false, Broken, c.BrokenSays, rate(c.Broken))
		table.Add(false, Fixed, c.FixedSays, rate(c.Fixed))
		s.Add(report.Part{Title: "The two rates", Table: table})
	}
	s.Add(r.overTime()...)
	broke := report.NewTable("What broke", "Where", "Fired", "Came to")
	for _, f := range r.Faults {
		times := strconv.Itoa(f.Fired) + "×"
		if !f.Counted && f.Fired > 0 {
			times = "struck"
		}
		broke.Add(false, f.What, f.Where, times, f.Status)
	}
	s.Add(
		report.Part{Title: "What broke", Table: broke},
		report.Part{Title: "Events", Table: report.TableOf(r.Log, "After", "At", "What happened")},
	)
	return s
}

// command returns the command of the same run. It says so if it lacks acts by hand.
func (r *Record) command() string {
	if r.Run.Fault != "" && slices.ContainsFunc(r.Faults, func(s trial.Shown) bool { return s.ByHand }) {
		return r.Run.Command + " (without what was broken by hand)"
	}
	return r.Run.Command
}

// orAbsent returns NaN for a time that is absent from a sample.
func orAbsent(ms float64) float64 {
	if ms == 0 {
		return math.NaN()
	}
	return ms
}

// overTime draws the samples, with the faults that struck, and lists them.
func (r *Record) overTime() []report.Part {
	if len(r.Samples) == 0 {
		return nil
	}
	line := func(name string, style int, of func(Sample) float64) report.Line {
		l := report.Line{Name: name, Style: style}
		for _, s := range r.Samples {
			l.Points = append(l.Points, report.Point{X: float64(s.TMS) / 1000, Y: of(s)})
		}
		return l
	}
	var marks []report.Mark
	for _, f := range r.Faults {
		if f.FiredMS > 0 {
			marks = append(marks, report.Mark{X: float64(f.FiredMS) / 1000, Name: f.String()})
		}
	}
	draw := func(title string, lines ...report.Line) report.Part {
		return report.Part{Title: title, Picture: report.Figure{
			Label: title, Columns: 1, Width: 720, Height: 160,
			Charts: []report.Chart{{Below: "seconds", Lines: lines, Marks: marks}},
		}.SVG()}
	}
	return []report.Part{
		draw("Orders answered per second",
			line("all", report.Blue, func(s Sample) float64 { return s.OrdersPerS }),
			line("confirmed", report.GreenDashed, func(s Sample) float64 { return s.Confirmed }), // it may lie over the first
			line("rejected", report.BrownDashed, func(s Sample) float64 { return s.Rejected }),
			line("failed", report.Pink, func(s Sample) float64 { return s.Failed })),
		draw("Time to answer, in ms",
			line("99 of 100 within", report.Blue, func(s Sample) float64 { return orAbsent(s.P99MS) }),
			line("half within", report.GreenDashed, func(s Sample) float64 { return orAbsent(s.P50MS) })),
		{Title: "Over time, in numbers", Table: report.TableOf(r.Samples), Folded: true},
	}
}
