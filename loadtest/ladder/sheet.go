package ladder

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"orderstock/loadtest/report"
	"orderstock/loadtest/verify"
	"orderstock/stock-service/deduct"
)

// Wrong marks a row of a table.
func (r Row) Wrong() bool { return r.Verdict != verify.Pass }

// unexpected reports whether the row has another verdict than expected: violation for the unsafe strategy under load,
// pass for all others. When something breaks, an unsafe strategy may lose deductions.
func (r Row) unexpected() bool {
	if info, err := deduct.Find(r.Strategy); r.Fault != "" && err == nil && info.Unsafe() {
		return false
	}
	if r.Strategy == Unsafe {
		return r.Clients > 1 && r.Goods == 1 && r.Verdict != verify.Violation
	}
	return r.Verdict != verify.Pass
}

// unexpected returns the rows without the expected verdict.
func (r *Result) unexpected() []Row {
	return slices.DeleteFunc(slices.Concat(r.Rows, r.Survival), func(row Row) bool { return !row.unexpected() })
}

// Outcome is a pass if each row has the expected verdict, and a violation unless verdicts of unknown are all that is
// wrong.
func (r *Result) Outcome() verify.Outcome {
	outcome := verify.Pass
	for _, row := range r.unexpected() {
		if row.Verdict == verify.Pass { // of the unsafe strategy
			return verify.Violation
		}
		outcome = outcome.Or(row.Verdict)
	}
	return outcome
}

// Sheet describes the run.
func (r *Result) Sheet() report.Sheet {
	s := report.Sheet{
		Word: strings.ToUpper(string(r.Outcome())), Facts: []report.Fact{{Name: "Date", Value: r.Date}},
	}
	if r.Server != "" {
		s.On = r.Server + ", " + r.Machine
	}
	if r.Kind == "compare" {
		r.describeComparison(&s)
	} else {
		r.describeLadder(&s)
	}
	s.Add(report.Part{Title: "Not as expected", Table: report.TableOf(r.unexpected(), "Strategy", "Variant", "Fault",
		"Path", "Stock services", "Products", "Clients", "Broken", "Verdict")})
	return s
}

func (r *Result) describeLadder(s *report.Sheet) {
	s.Title = "The deduction strategies compared"
	if len(r.Rows) > 0 {
		best := slices.MaxFunc(r.Rows, func(a, b Row) int { return cmp.Compare(a.DonePerS, b.DonePerS) })
		s.Sentence = report.English.Sprintf("%s: up to %.0f sales a second", best.Strategy, best.DonePerS)
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
			Says: "`grouped` to each other strategy, one hot product, " + r.loads() + ". `grouped-rows` is the\n" +
				"same groups without the lock. The error is the spread of the turns. It ignores that restarted processes may\n" +
				"be some 5 % faster or slower: `bench compare` compares closely.",
		},
		report.Part{
			Title: "By clients", Picture: r.strategies(), File: "ladder.svg",
			Alt: "Throughput and latency by clients for each strategy",
		},
		report.Part{
			Title: "Every row", Says: "Only ratios between rows of one run mean anything.",
			Table: report.TableOf(r.Rows, "Strategy", "Path", "Stock services", "Products", "Clients", "Sold out",
				"Sales a second", "Refused a second", "p50 ms", "p99 ms", "Verdict"), Detail: true,
		},
	)
}

// loads names the numbers of clients that strategies are compared with.
func (r *Result) loads() string {
	clients := slices.DeleteFunc(distinct(r.hot(), func(row Row) int { return row.Clients }), func(n int) bool {
		return !slices.Contains(underLoad, n)
	})
	if len(clients) == 1 {
		return fmt.Sprintf("with %d clients", clients[0])
	}
	return "the better of 64 and 256 clients"
}

// byStrategy has a line for each strategy, the best last: the rates on one hot product, and what survived.
func (r *Result) byStrategy() *report.Table {
	rows := r.hot()
	clients := distinct(rows, func(row Row) int { return row.Clients })
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
					cell = report.English.Sprintf("%.0f/s, p99 %.1f ms", row.DonePerS, row.P99MS)
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
	for _, path := range paths {
		for _, other := range distinct(r.Rows, func(row Row) string { return row.Strategy }) {
			for _, replicas := range distinct(r.Rows, func(row Row) int { return row.Replicas }) {
				with, without := most(r.Rows, Default, path, replicas), most(r.Rows, other, path, replicas)
				if other == Default || with.DonePerS <= 0 || without.DonePerS <= 0 {
					continue
				}
				table.Add(false, path, replicas, report.English.Sprintf("%.0f/s", with.DonePerS), "`"+other+"`",
					report.English.Sprintf("%.0f/s", without.DonePerS), overLegs(without.Legs, with.Legs))
			}
		}
	}
	return table
}

func (r *Result) describeComparison(s *report.Sheet) {
	s.Title = "Two variants of the services compared, by turns"
	legs := report.NewTable("Load", "Leg", "Old", "New", "Ratio")
	for i := 0; i+1 < len(r.Rows); i += 2 {
		before, after := r.Rows[i], r.Rows[i+1]
		s.Sentence = after.Variant + " / " + before.Variant
		for leg, was := range before.Legs {
			legs.Add(false, before.load(), leg+1, report.English.Sprintf("%.0f", was),
				report.English.Sprintf("%.0f", after.Legs[leg]), fmt.Sprintf("%.2f", after.Legs[leg]/was))
		}
	}
	s.Add(
		report.Part{Title: "Sales a second", Table: report.TableOf(r.Rows, "Variant", "Path", "Stock services", "Products",
			"Baskets of", "Clients", "Sales a second", "Ratio", "p99, ratio", "Hand-overs a second", "Verdict")},
		report.Part{Title: "Every leg", Table: legs, Detail: true},
	)
}
