package locks

import (
	"fmt"
	"io"
	"time"

	"orderstock/loadtest/report"
)

func printHeader(out io.Writer) {
	fmt.Fprintf(out, "%-18s %9s %10s %5s  %10s %10s %10s %10s %15s %11s\n",
		"lock", "processes", "contenders", "paths", "per s", "p50 ms", "p99 ms", "max ms", "wakeups/release", "least share")
}

func printRow(out io.Writer, r Row) {
	fmt.Fprintf(out, "%-18s %9d %10d %5d  %10.0f %10.4f %10.3f %10.1f %15.2f %10.0f%%\n",
		r.Lock, r.Processes, r.Contenders, r.Paths, r.PerSecond, r.P50, r.P99, r.Longest,
		r.WakeupsPerRelease, 100*r.leastShare)
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
