package locks

import (
	"fmt"
	"io"
	"time"

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

func (r *Result) find(lock string, s shape) (Row, bool) {
	for _, row := range r.Rows {
		of := shape{processes: row.Processes, contenders: row.Contenders, paths: row.Paths}
		if row.Lock == lock && of == s && row.Hold == 0 {
			return row, true
		}
	}
	return Row{}, false
}

// target is a goal for zklock; value and goal are in the same unit.
type target struct {
	text  string
	value float64
	goal  float64
	most  bool // goal is the maximum, rather than the minimum
}

func (t target) reached() bool {
	if t.most {
		return t.value <= t.goal
	}
	return t.value >= t.goal
}

// fairnessWindow is the minimum measured time for a judgement of fairness.
const fairnessWindow = 10 * time.Second

// goals returns the targets that the rows can be judged by.
func (r *Result) goals() []target {
	var all []target
	ratio := func(text, lock, other string, s shape, of func(Row) float64, goal float64, most bool) {
		a, ok := r.find(lock, s)
		b, also := r.find(other, s)
		if ok && also && of(b) > 0 {
			all = append(all, target{text, of(a) / of(b), goal, most})
		}
	}
	perSecond := func(r Row) float64 { return r.PerSecond }
	p99 := func(r Row) float64 { return r.P99 }
	ratio("64 on one path: throughput, times zk.Lock", zklockLock, clientLock, crowd, perSecond, 30, false)
	ratio("64 on one path: throughput, times Curator", zklockLock, curatorLock, crowd, perSecond, 30, false)
	ratio("64 on one path: p99, part of zk.Lock's", zklockLock, clientLock, crowd, p99, 0.2, true)
	ratio("64 on one path: p99, part of Curator's", zklockLock, curatorLock, crowd, p99, 0.2, true)
	ratio("64 on one path, no hand-off: throughput, times zk.Lock", noHandoffLock, clientLock, crowd, perSecond, 0.9,
		false)
	ratio("alone: throughput, times raw", zklockLock, rawLock, alone, perSecond, 10, false)
	for _, lock := range []string{zklockLock, noHandoffLock} {
		if row, ok := r.find(lock, crowd); ok && row.measured >= fairnessWindow {
			all = append(all, target{
				fmt.Sprintf("64 on one path, %s: least process's share over %s", lock, row.measured),
				row.leastShare, 0.5, false,
			})
		}
	}
	return all
}

// targets has each target that the rows can be judged by. It reports whether one was missed.
func (r *Result) targets() (all *report.Table, missed bool) {
	all = report.NewTable("target", "measured", "to reach", "")
	for _, t := range r.goals() {
		word, bound := "reached", "at least"
		if !t.reached() {
			word, missed = "**MISSED**", true
		}
		if t.most {
			bound = "at most"
		}
		all.Add(!t.reached(), t.text, fmt.Sprintf("%.2f", t.value), fmt.Sprintf("%s %g", bound, t.goal), word)
	}
	return all, missed
}

// PrintTargets prints each target that the rows can be judged by, and reports whether one was missed.
func (r *Result) PrintTargets(out io.Writer) (missed bool, err error) {
	all, missed := r.targets()
	fmt.Fprintln(out)
	return missed, all.Text(out)
}
