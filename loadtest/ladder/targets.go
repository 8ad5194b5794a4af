package ladder

import "fmt"

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
		{PathDeduct, Direct, 0.75},
		{PathOrder, Direct, 0.6},
	} {
		add(fmt.Sprintf("%s, one hot product: grouped / %s", want.path, want.than),
			most(rows, Default, want.path, 1), most(rows, want.than, want.path, 1), want.times)
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
