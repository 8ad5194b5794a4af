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
func (b Bench) sheet(title string, judge func() error) report.Sheet {
	s := report.Sheet{Title: title, Word: "PASS", Facts: []report.Fact{{Name: "Date", Value: b.Date}}}
	if b.Server != "" {
		s.On = b.Server + ", " + b.Machine
	}
	err := judge()
	switch _, failed := errors.AsType[*command.ExitError](err); {
	case failed:
		s.Word = "VIOLATION"
	case err != nil:
		s.Word = "UNKNOWN"
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
			Title: "The default strategy and the others", Table: r.compared(),
			Says: "`grouped` to each other strategy, one hot product, the better of 64 and 256 clients. " +
				"`grouped-rows` is the\n" +
				"same groups without the lock. The error is the standard error over slices of 250 ms. It is too small for a\n" +
				"row of few turns, as one turn is off by a sixth, and ignores that restarted processes may be some 5 %\n" +
				"faster or slower: `bench compare` compares closely.",
		},
		report.Part{
			Title: "By clients", Picture: r.SVG(), File: "ladder.svg",
			Alt: "Throughput and latency by clients for each strategy",
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

// compared has the default strategy's ratio to each other one, where both were measured.
func (r *Result) compared() *report.Table {
	table := report.NewTable("path", "stock services", "`grouped`", "the other", "", "ratio")
	for _, path := range []string{PathDeduct, PathOrder} {
		for _, other := range distinct(r.Rows, func(row Row) string { return row.Strategy }) {
			for _, replicas := range distinct(r.Rows, func(row Row) int { return row.Replicas }) {
				with, without := most(r.Rows, Default, path, replicas), most(r.Rows, other, path, replicas)
				if other == Default || with.DonePerS <= 0 || without.DonePerS <= 0 {
					continue
				}
				table.Add(false, path, replicas, fmt.Sprintf("%.0f/s", with.DonePerS), "`"+other+"`",
					fmt.Sprintf("%.0f/s", without.DonePerS), compare(with, without))
			}
		}
	}
	return table
}

// Sheet describes the comparison.
func (c *Comparison) Sheet() report.Sheet {
	s := c.sheet("Two variants of the services compared, by turns", c.Judge)
	s.Sentence = c.New + " / " + c.Old
	all := report.NewTable("load", "old", "new", "ratio", "p99, ratio", "hand-overs/s")
	legs := report.NewTable("Load", "Leg", "Old", "New", "Ratio")
	for _, l := range c.Loads {
		if len(l.Old) == 0 {
			continue
		}
		all.Add(l.Verdict != verify.Pass, l.Load.String()+report.Unless(l.Verdict), fmt.Sprintf("%.0f/s", mean(l.Old)),
			fmt.Sprintf("%.0f/s", mean(l.New)), l.Ratio, l.P99, fmt.Sprintf("%.1f", l.Handovers))
		for leg, n := range l.New {
			legs.Add(false, l.Load, leg+1, fmt.Sprintf("%.0f", l.Old[leg]), fmt.Sprintf("%.0f", n),
				fmt.Sprintf("%.2f", n/l.Old[leg]))
		}
	}
	s.Add(
		report.Part{Title: "Sales a second", Says: "Old: " + c.Old + "; new: " + c.New + ".", Table: all},
		report.Part{Title: "Every leg", Table: legs, Detail: true},
	)
	return s
}

// Sheet describes the measurement.
func (s Scale) Sheet() report.Sheet {
	sheet := s.sheet("What more holders and more replicas add", s.Judge)
	rows := report.NewTable("groups of", "a commit waits", "holders", "deductions/s", "to one holder", "hand-overs/s")
	for _, r := range s.AllRows() {
		rows.Add(r.Verdict != verify.Pass, r.Group, fmt.Sprintf("%g ms", r.DelayMS), r.Holders,
			fmt.Sprintf("%.0f%s", r.DeductsPerS, report.Unless(r.Verdict)), r.Ratio, fmt.Sprintf("%.1f", r.Handovers))
	}
	compared := report.NewTable("compared", "ratio")
	if s.Compose != nil {
		for _, c := range s.Compose.Ratios {
			compared.Add(s.Compose.Verdict != verify.Pass, c.Name+report.Unless(s.Compose.Verdict), c.Ratio)
		}
	}
	failing := report.NewTable("holder, for 20 s", "answers", "other than 201, 202, 409", "first success after")
	for _, f := range s.Failing {
		failing.Add(f.Verdict != verify.Pass || f.FirstSuccessS < 0, f.Fault+report.Unless(f.Verdict), f.Answers,
			fmt.Sprintf("%.2f %%", 100*f.OtherShare), fmt.Sprintf("%.2f s", f.FirstSuccessS))
	}
	sheet.Add(
		report.Part{Title: "More holders", Table: rows},
		report.Part{Title: "By holders", Picture: s.SVG(), File: "scale.svg", Alt: "Deductions by holders"},
		report.Part{Title: "Compose", Table: compared},
		report.Part{Title: "A holder that fails", Table: failing},
	)
	return sheet
}
