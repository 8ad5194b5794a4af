package locks

import (
	"cmp"
	"fmt"
	"slices"

	"orderstock/loadtest/report"
)

// Sheet describes the measurement.
func (r *Result) Sheet() report.Sheet {
	s := report.Sheet{Title: "ZooKeeper locks compared"}
	lone := report.NewTable("lock", "others", "all hold for", "p50 ms", "p99 ms", "longest ms")
	loads, cells := []string{}, map[[2]string]string{}
	for _, row := range r.Rows {
		if row.Hold > 0 {
			lone.Add(false, row.Lock, row.Contenders-1, fmt.Sprintf("%g ms", row.Hold), fmt.Sprintf("%.1f", row.P50),
				fmt.Sprintf("%.1f", row.P99), fmt.Sprintf("%.1f", row.Longest))
			continue
		}
		load := fmt.Sprintf("%s in %s on %s",
			report.Many(row.Contenders, "contender"), report.Many(row.Processes, "process"), report.Many(row.Paths, "path"))
		if !slices.Contains(loads, load) {
			loads = append(loads, load)
		}
		cell := report.English.Sprintf("%.0f/s, %s, %s ms", row.PerSecond, short(row.P50), short(row.P99))
		if row.WakeupsPerRelease >= 0.05 { // 0.0
			cell += fmt.Sprintf(", %.1f wake-ups", row.WakeupsPerRelease)
		}
		cells[[2]string{row.Lock, load}] = cell
	}
	if len(r.Rows) > 0 {
		best := slices.MaxFunc(r.Rows, func(a, b Row) int { return cmp.Compare(a.PerSecond, b.PerSecond) })
		s.Sentence = report.English.Sprintf("%s: up to %.0f locks a second", best.Lock, best.PerSecond)
	}
	compared := report.NewTable(append([]string{"lock"}, loads...)...)
	for _, lock := range Names {
		row, measured := []any{lock}, false
		for _, load := range loads {
			cell, found := cells[[2]string{lock, load}]
			row, measured = append(row, cell), measured || found
		}
		if measured {
			compared.Add(false, row...)
		}
	}
	s.Add(
		report.Part{
			Title: "Compared", Says: "Acquisitions per second, p50, p99, wake-ups for each release:", Table: compared,
		},
		report.Part{
			Title: "One beside many", Table: lone,
			Says: "The wait of one contender that competes with many in another process, all on one path:",
		},
	)
	s.Add(report.Part{Title: "Every row", Table: report.TableOf(r.Rows), Detail: true})
	return s
}

// short formats a number without digits that say nothing.
func short(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.2f", v)
	}
	return report.English.Sprintf("%.0f", v)
}
