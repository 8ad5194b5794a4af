package ladder

import (
	"fmt"
	"math"
	"strings"
)

// A strategy is judged under load by the better of its rows with 64 and 256 clients.
var underLoad = []int{64, 256}

// ratios returns the ratios for which the default strategy has a target, as far as
// rows has both sides of them.
func ratios(rows []Row) []Ratio {
	var all []Ratio
	add := func(name string, a, b Row, want float64) *Ratio {
		if a.DonePerS <= 0 || b.DonePerS <= 0 {
			return &Ratio{}
		}
		all = append(all, compare(name, a, b, want))
		return &all[len(all)-1]
	}
	for _, want := range []struct {
		path, than string
		times      float64
	}{
		{PathDeduct, "case-study", 40},
		{PathDeduct, "conditional-update", 12},
		{PathOrder, "case-study", 12},
		{PathOrder, "conditional-update", 5},
	} {
		add(fmt.Sprintf("%s, one hot product: grouped / %s", want.path, want.than),
			most(rows, Default, want.path, 1), most(rows, want.than, want.path, 1), want.times)
	}
	for _, limit := range []struct {
		path string
		part float64
	}{{PathDeduct, 0.75}, {PathOrder, 0.6}} {
		add(limit.path+", one hot product: grouped / direct", most(rows, Default, limit.path, 1),
			most(rows, Direct, limit.path, 1), limit.part)
	}
	for _, path := range []string{PathDeduct, PathOrder} {
		for _, c := range underLoad {
			g, s := find(rows, Default, path, 1, 1, c), find(rows, "case-study", path, 1, 1, c)
			if g.P99MS > 0 && s.P50MS > 0 {
				value := s.P50MS / g.P99MS
				all = append(all, Ratio{
					Name:  fmt.Sprintf("%s, %d clients: p50 of case-study / p99 of grouped", path, c),
					Value: value, Want: 1, OK: value >= 1,
				})
			}
		}
		for _, c := range []int{1, 16, 64, 256} {
			add(fmt.Sprintf("%s, 100 products, %d clients: grouped / conditional-update", path, c),
				find(rows, Default, path, 1, 100, c), find(rows, "conditional-update", path, 1, 100, c), 0.9)
		}
		add(path+", one client: grouped / sequential",
			find(rows, Default, path, 1, 1, 1), find(rows, "sequential", path, 1, 1, 1), 0.9)
		three := add(path+", one hot product: grouped with three replicas / with one",
			most(rows, Default, path, 3), most(rows, Default, path, 1), 1)
		three.OK = three.withinError()
	}
	return all
}

// compare divides a's sales a second by b's, which must not be 0.
func compare(name string, a, b Row, want float64) Ratio {
	value := a.DonePerS / b.DonePerS
	return Ratio{
		Name: name, Value: value, Error: value * math.Hypot(a.DoneError/a.DonePerS, b.DoneError/b.DonePerS),
		Want: want, OK: value >= want,
	}
}

// withinError reports whether the ratio reaches its target within its error. It is for two rows that do
// the same work, and so differ by errors alone.
func (r *Ratio) withinError() bool { return r.Value+r.Error >= r.Want }

// find returns the row; the zero Row if it was not measured.
func find(rows []Row, strategy, path string, replicas, goods, clients int) Row {
	for _, r := range rows {
		if r.Strategy == strategy && r.Path == path && r.Replicas == replicas && r.Goods == goods && r.Clients == clients &&
			!r.SellOut {
			return r
		}
	}
	return Row{}
}

// most returns the row with the most sales a second of one hot product under load.
func most(rows []Row, strategy, path string, replicas int) (best Row) {
	for _, c := range underLoad {
		if r := find(rows, strategy, path, replicas, 1, c); r.DonePerS > best.DonePerS {
			best = r
		}
	}
	return best
}

// Line returns the ratio as a line to print.
func (r Ratio) Line() string {
	word := "reached"
	switch {
	case !r.OK:
		word = "MISSED"
	case r.Value < r.Want:
		word = "reached, within its error"
	}
	plusMinus := ""
	if r.Error > 0 {
		plusMinus = fmt.Sprintf("±%.2f", r.Error)
	}
	return fmt.Sprintf("%-66s %8.2f %-6s  want %5g  %s", r.Name, r.Value, plusMinus, r.Want, word)
}

// MarkdownRatios returns the ratios as a table for the README.
func (r *Result) MarkdownRatios() string {
	var b strings.Builder
	b.WriteString("| compared | ratio | to reach |\n| --- | --- | --- |\n")
	for _, ratio := range r.Ratios {
		fmt.Fprintf(&b, "| %s | %.2f", ratio.Name, ratio.Value)
		if ratio.Error > 0 {
			fmt.Fprintf(&b, " ± %.2f", ratio.Error)
		}
		fmt.Fprintf(&b, " | %g", ratio.Want)
		switch {
		case !ratio.OK:
			b.WriteString(", **missed**")
		case ratio.Value < ratio.Want:
			b.WriteString(", within its error")
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// Wrong returns the rows that do not have the expected verdict: violation for
// the unsafe strategy under load, pass for all others.
func (r *Result) Wrong() []Row {
	var wrong []Row
	for _, row := range r.Rows {
		switch {
		case row.Strategy != Unsafe && row.Verdict != "pass",
			row.Strategy == Unsafe && row.Clients > 1 && row.Goods == 1 && row.Verdict != "violation":
			wrong = append(wrong, row)
		}
	}
	return wrong
}
