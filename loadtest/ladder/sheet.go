package ladder

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"orderstock/loadtest/report"
	"orderstock/loadtest/verify"
	"orderstock/pkg/command"
)

// sheet begins the description of a result of the bench, whose Judge is judge.
func (b Bench) sheet(title string, judge func(targets bool) error) report.Sheet {
	s := report.Sheet{Title: title, Word: "PASS", Facts: []report.Fact{{Name: "Date", Value: b.Date}}}
	if b.Server != "" {
		s.On = b.Server + ", " + b.Machine
	}
	err := judge(false)
	switch _, failed := errors.AsType[*command.ExitError](err); {
	case failed:
		s.Word = "VIOLATION"
	case err != nil:
		s.Word = "UNKNOWN"
	case judge(true) != nil:
		s.Word = "MISSED"
	}
	return s
}

// rowTable has every figure of the rows.
func rowTable(rows ...Row) *report.Table {
	table := report.NewTable("Strategy", "Path", "Replicas", "Products", "Clients", "Sales a second", "Refused a second",
		"p50 ms", "p99 ms", "Wake-ups", "Verdict")
	for _, row := range rows {
		row.addTo(table)
	}
	return table
}

// addTo adds the row to a rowTable.
func (r Row) addTo(table *report.Table) {
	verdict := string(r.Verdict)
	if r.SellOut {
		verdict += " (sell-out)"
	}
	table.Add(r.Verdict != verify.Pass, r.Strategy, r.Path, r.Replicas, r.Goods, r.Clients,
		fmt.Sprintf("%.0f", r.DonePerS), fmt.Sprintf("%.0f", r.RejectedPerS), fmt.Sprintf("%.1f", r.P50MS),
		fmt.Sprintf("%.1f", r.P99MS), fmt.Sprintf("%.2f", r.WakeupsPerRelease), verdict)
}

// ratioTable compares ratios with their targets.
func ratioTable(ratios ...Ratio) *report.Table {
	table := report.NewTable("compared", "ratio", "to reach")
	for _, r := range ratios {
		want := fmt.Sprint(r.Want)
		switch {
		case !r.OK:
			want += ", **missed**"
		case r.Value < r.Want:
			want += ", within its error"
		}
		table.Add(!r.OK, r.Name, withError(r.Value, r.Error), want)
	}
	return table
}

// withError formats a ratio; its error is 0 if it is not known.
func withError(value, err float64) string {
	if err == 0 {
		return fmt.Sprintf("%.2f", value)
	}
	return fmt.Sprintf("%.2f ± %.2f", value, err)
}

// Sheet describes the run.
func (r *Result) Sheet() report.Sheet {
	s := r.sheet("The deduction strategies compared", r.Judge)
	if len(r.Rows) > 0 {
		best := slices.MaxFunc(r.Rows, func(a, b Row) int { return cmp.Compare(a.DonePerS, b.DonePerS) })
		s.Sentence = fmt.Sprintf("%s: up to %.0f sales a second", best.Strategy, best.DonePerS)
	}
	s.Add(
		report.Part{
			Title: "One product that everybody wants", Table: r.byStrategy(),
			Says: "The deduction call alone, and whole orders, of one hot product. `direct` is the limit: the same\n" +
				"statements in the same groups, sent to MySQL by the load tester, with no service, HTTP, Redis or lock.\n" +
				"The last two columns are for deductions of five products, a tenth of them sent twice: in the middle the\n" +
				"only stock service is killed and restarted, or Redis is emptied ten times within half a second.",
		},
		report.Part{
			Title: "The lock", Table: r.lockCost(),
			Says: "Cost or gain of the lock of `grouped`, against the same groups without it (`grouped-rows`), one hot product:",
		},
		report.Part{
			Title: "By clients", Picture: r.SVG(), File: "ladder.svg",
			Alt: "Throughput and latency by clients for each strategy",
		},
		report.Part{
			Title: "Ratios", Table: ratioTable(r.Ratios...),
			Says: "The targets of the default strategy. The error is the standard error over slices of 250 ms. It is too\n" +
				"small for a row of few turns, as one turn is off by a sixth, and ignores that restarted processes may be\n" +
				"some 5 % faster or slower. \"One hot product\" is the best of 64 and 256 clients.",
		},
		report.Part{
			Title: "Every row", Says: "Only ratios between rows of one run mean anything.", Table: rowTable(r.Rows...),
			Detail: true,
		},
	)
	return s
}

// byStrategy has a line for each strategy, the best last: the rates on one hot product, and what survived.
func (r *Result) byStrategy() *report.Table {
	rows := r.hot()
	clients := distinct(rows, func(row Row) int { return row.Clients })
	paths := []string{PathDeduct, PathOrder}
	head := []string{"strategy"}
	for _, what := range []string{"deductions", "orders"} {
		for _, c := range clients {
			head = append(head, fmt.Sprintf("%s, %d clients", what, c))
		}
	}
	table := report.NewTable(append(head, "calm", "service killed", "Redis flushed")...)
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(b.DonePerS, a.DonePerS))
	})
	strategies := distinct(rows, func(row Row) string { return row.Strategy })
	slices.Reverse(strategies)
	for _, s := range strategies {
		cells, verdict := []any{"`" + s + "`"}, verify.Pass
		for _, path := range paths {
			for _, c := range clients {
				row, cell := find(rows, s, path, 1, 1, c), ""
				if row.Verdict != "" {
					cell = fmt.Sprintf("%.0f/s, p99 %.1f ms", row.DonePerS, row.P99MS)
					verdict = verdict.Or(row.Verdict)
				}
				cells = append(cells, cell)
			}
		}
		table.Add(false, append(cells, verdict, r.survived(s, Killed), r.survived(s, Flushed))...)
	}
	return table
}

// lockCost compares grouped with the same groups without a lock, where both were measured.
func (r *Result) lockCost() *report.Table {
	table := report.NewTable("path", "stock services", "with it", "without", "ratio")
	for _, path := range []string{PathDeduct, PathOrder} {
		for _, replicas := range distinct(r.Rows, func(row Row) int { return row.Replicas }) {
			with, without := most(r.Rows, Default, path, replicas), most(r.Rows, "grouped-rows", path, replicas)
			if with.DonePerS <= 0 || without.DonePerS <= 0 {
				continue
			}
			ratio := compare("", with, without, 0)
			table.Add(false, path, replicas, fmt.Sprintf("%.0f/s", with.DonePerS), fmt.Sprintf("%.0f/s", without.DonePerS),
				withError(ratio.Value, ratio.Error))
		}
	}
	return table
}

// Sheet describes the comparison.
func (c Comparison) Sheet() report.Sheet { return Comparisons{c}.Sheet() }

// Sheet describes the comparisons.
func (all Comparisons) Sheet() report.Sheet {
	var s report.Sheet
	for i, c := range all {
		if i == 0 {
			s = c.sheet("Two variants compared, in legs", all.Judge)
			s.Sentence = c.Ratio.Name + ": " + withError(c.Ratio.Value, c.Ratio.Error)
		}
		legs := report.NewTable("Leg", "Sales a second of the one", "Of the other", "Ratio")
		for leg, b := range c.B {
			legs.Add(false, leg+1, fmt.Sprintf("%.0f", c.A[leg]), fmt.Sprintf("%.0f", b), fmt.Sprintf("%.2f", b/c.A[leg]))
		}
		s.Add(
			report.Part{Title: c.Ratio.Name, Says: "Verdict: " + string(c.Verdict) + ".", Table: ratioTable(c.Ratio)},
			report.Part{Title: "Every leg", Table: legs, Detail: true},
		)
	}
	return s
}

// Sheet describes the comparison.
func (t Traced) Sheet() report.Sheet {
	s := t.Comparison.Sheet()
	s.Facts = append(s.Facts, report.Fact{
		Name: "Traced", Value: fmt.Sprintf("%g of all orders, %d spans", t.Share, t.Spans),
	})
	return s
}

// Sheet describes the comparison.
func (g Growth) Sheet() report.Sheet {
	s := Bench{}.sheet("Sales over empty and over grown tables", g.Judge)
	s.On, s.Sentence = g.Server, withError(g.Ratio.Value, g.Ratio.Error)+" of the sales over empty tables"
	s.Add(
		report.Part{Title: "Compared", Table: ratioTable(g.Ratio)},
		report.Part{Title: "Empty, then grown", Table: rowTable(g.Empty, g.Grown)},
	)
	return s
}

// Sheet describes the soak.
func (s Soak) Sheet() report.Sheet {
	sheet := Bench{}.sheet("The services' memory under long load", s.Judge)
	sheet.Sentence = fmt.Sprintf("%.0f minutes at %.0f orders a second", s.Minutes, s.DonePerS)
	table := report.NewTable("Service", "MiB after a fifth of the time", "MiB at the end", "Ratio", "To reach")
	for _, m := range s.Services {
		table.Add(m.missed(), m.Name, m.Early>>20, m.End>>20, fmt.Sprintf("%.2f", m.Ratio), "0.9 to 1.1")
	}
	sheet.Add(report.Part{Title: "Resident memory", Says: "Verdict: " + string(s.Verdict) + ".", Table: table})
	return sheet
}

// Sheet describes the measurement.
func (s Scale) Sheet() report.Sheet {
	sheet := s.sheet("What more holders and more replicas add", s.Judge)
	sheet.Add(s.parts()...)
	sheet.Sentence = fmt.Sprintf("%d figures were missed", len(sheet.Wrong()))
	return sheet
}

func (s Scale) parts() []report.Part {
	rows := report.NewTable("groups of", "a commit waits", "holders", "deductions/s", "to one holder", "to reach")
	for _, r := range s.AllRows() {
		rows.Add(r.missed(), r.Group, fmt.Sprintf("%g ms", r.DelayMS), r.Holders,
			fmt.Sprintf("%.0f%s", r.DeductsPerS, report.Unless(r.Verdict)),
			fmt.Sprintf("%.2f ± %.2f", r.Ratio, r.Error), toReach(r.Ratio, r.Error, r.Want))
	}
	compared := report.NewTable("compared", "ratio", "to reach", "p99, ratio", "hand-overs/s")
	for _, h := range s.Compared() {
		p99 := fmt.Sprintf("%.2f", h.P99)
		if h.slow() {
			p99 += fmt.Sprintf(" **(at most %g)**", h.MostP99)
		}
		compared.Add(h.missed() || h.slow(), h.Load()+" / "+h.Than+report.Unless(h.Verdict),
			fmt.Sprintf("%.2f ± %.2f", h.Ratio, h.Error), toReach(h.Ratio, h.Error, h.Want), p99,
			fmt.Sprintf("%.1f", h.Handovers))
	}
	if s.Compose != nil {
		for _, c := range s.Compose.Ratios() {
			compared.Add(!c.withinError(), c.Name, fmt.Sprintf("%.2f ± %.2f", c.Value, c.Error),
				toReach(c.Value, c.Error, c.Want), "", "")
		}
		if s.Compose.Verdict != verify.Pass {
			compared.Add(true, "compose"+report.Unless(s.Compose.Verdict), "", "", "", "")
		}
	}
	failing := report.NewTable("holder, for 20 s", "answers", "other than 201, 202, 409", "first success after")
	for _, f := range s.Failing {
		failing.Add(!f.OK, f.Fault+report.Unless(f.Verdict), f.Answers, fmt.Sprintf("%.2f %%", 100*f.OtherShare),
			fmt.Sprintf("%.2f s", f.FirstSuccessS))
	}
	return []report.Part{
		{Title: "More holders", Table: rows},
		{Title: "By holders", Picture: s.SVG(), File: "scale.svg", Alt: "Deductions by holders"},
		{Title: "Compared", Table: compared},
		{Title: "A holder that fails", Table: failing},
	}
}

// toReach returns the target of a ratio, and whether it was missed; "" if there is no target.
func toReach(value, err, want float64) string {
	switch {
	case want == 0:
		return ""
	case value+err < want:
		return fmt.Sprintf("%g, **missed**", want)
	}
	return fmt.Sprint(want)
}
