package locks

import (
	"fmt"

	"orderstock/loadtest/report"
)

// rowTable has every figure of the rows.
func rowTable(rows ...Row) *report.Table {
	table := report.NewTable("Lock", "Processes", "Contenders", "Paths", "A second", "p50 ms", "p99 ms", "Longest ms",
		"Wake-ups for each release", "Least share")
	for _, row := range rows {
		row.addTo(table)
	}
	return table
}

// addTo adds the row to a rowTable. The least share is not in a result's file.
func (r Row) addTo(table *report.Table) {
	share := ""
	if r.measured > 0 {
		share = fmt.Sprintf("%.0f%%", 100*r.leastShare)
	}
	table.Add(false, r.Lock, r.Processes, r.Contenders, r.Paths, fmt.Sprintf("%.0f", r.PerSecond),
		fmt.Sprintf("%.4g", r.P50), fmt.Sprintf("%.3f", r.P99), fmt.Sprintf("%.1f", r.Longest),
		fmt.Sprintf("%.2f", r.WakeupsPerRelease), share)
}

// Result is a measurement of locks.
type Result struct {
	Rows []Row `json:"rows"`
}
