package locks

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"orderstock/loadtest/report"
)

// Sheet returns the report of a measurement of locks.
func Sheet(rows []Row) report.Sheet {
	s := report.Sheet{Title: "ZooKeeper locks compared"}
	if PrintTargets(io.Discard, rows) {
		s.Word = "MISSED"
	}
	table := &report.Table{Head: []string{
		"Lock", "Processes", "Contenders", "Paths", "A second", "p50 ms", "p99 ms", "Wake-ups for each release",
	}}
	shapes := map[string][]report.Bar{}
	var names []string
	for _, r := range rows {
		table.Add(false, r.Lock, r.Processes, r.Contenders, r.Paths, fmt.Sprintf("%.0f", r.PerSecond),
			fmt.Sprintf("%.3f", r.P50), fmt.Sprintf("%.3f", r.P99), fmt.Sprintf("%.2f", r.WakeupsPerRelease))
		shape := fmt.Sprintf("%d processes, %d contenders, %d paths", r.Processes, r.Contenders, r.Paths)
		if r.Hold > 0 {
			shape = fmt.Sprintf("one contender beside %d in another process, which hold for %g ms", r.Contenders-1, r.Hold)
		}
		if !slices.Contains(names, shape) {
			names = append(names, shape)
		}
		shapes[shape] = append(shapes[shape], report.Bar{Name: r.Lock, Value: r.PerSecond})
	}
	if len(rows) > 0 {
		best := slices.MaxFunc(rows, func(a, b Row) int { return cmp.Compare(a.PerSecond, b.PerSecond) })
		s.Sentence = fmt.Sprintf("%s: up to %.0f locks a second", best.Lock, best.PerSecond)
	}
	for _, name := range names {
		s.Parts = append(s.Parts, report.Part{
			Title: name, Says: "Locks taken and released a second.", Picture: report.Bars(shapes[name]),
		})
	}
	s.Parts = append(s.Parts, report.Part{Title: "Every row", Table: table})
	return s
}
