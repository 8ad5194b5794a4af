package ladder

import "fmt"

// Best of 64 and 256 clients is what a strategy is judged by under load.
var underLoad = []int{64, 256}

// ratios compares the rows with what the default strategy is held to. What
// was not measured is left out.
func ratios(rows []Row) []Ratio {
	var all []Ratio
	add := func(name string, a, b, want float64) {
		if a > 0 && b > 0 {
			all = append(all, Ratio{Name: name, Value: a / b, Want: want, OK: a/b >= want})
		}
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
		add(fmt.Sprintf("%s, one hot goods: grouped / %s", want.path, want.than),
			most(rows, "grouped", want.path, 1, 1), most(rows, want.than, want.path, 1, 1), want.times)
	}
	for _, path := range []string{PathDeduct, PathOrder} {
		for _, c := range underLoad {
			g, okG := find(rows, "grouped", path, 1, 1, c)
			s, okS := find(rows, "case-study", path, 1, 1, c)
			if okG && okS {
				add(fmt.Sprintf("%s, %d clients: p50 of case-study / p99 of grouped", path, c), s.P50MS, g.P99MS, 1)
			}
		}
		for _, c := range []int{1, 16, 64, 256} {
			g, okG := find(rows, "grouped", path, 1, 100, c)
			s, okS := find(rows, "conditional-update", path, 1, 100, c)
			if okG && okS {
				add(fmt.Sprintf("%s, 100 goods, %d clients: grouped / conditional-update", path, c), g.DonePerS, s.DonePerS, 0.9)
			}
		}
		g, okG := find(rows, "grouped", path, 1, 1, 1)
		s, okS := find(rows, "sequential", path, 1, 1, 1)
		if okG && okS {
			add(fmt.Sprintf("%s, one client: grouped / sequential", path), g.DonePerS, s.DonePerS, 0.9)
		}
		add(path+", one hot goods: grouped with three replicas / with one",
			most(rows, "grouped", path, 3, 1), most(rows, "grouped", path, 1, 1), 1)
	}
	return all
}

func find(rows []Row, strategy, path string, replicas, goods, clients int) (Row, bool) {
	for _, r := range rows {
		if r.Strategy == strategy && r.Path == path && r.Replicas == replicas && r.Goods == goods && r.Clients == clients && !r.SellOut {
			return r, true
		}
	}
	return Row{}, false
}

// most returns the best sales a second under load.
func most(rows []Row, strategy, path string, replicas, goods int) (best float64) {
	for _, c := range underLoad {
		if r, ok := find(rows, strategy, path, replicas, goods, c); ok {
			best = max(best, r.DonePerS)
		}
	}
	return best
}

// Line returns the ratio as a line to print.
func (r Ratio) Line() string {
	word := "reached"
	if !r.OK {
		word = "MISSED"
	}
	return fmt.Sprintf("%-66s %8.2f  want %5.1f  %s", r.Name, r.Value, r.Want, word)
}

// Wrong returns the rows whose verdict is not what it has to be: violation for
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
