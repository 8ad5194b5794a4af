package locks

import (
	"fmt"
	"io"
	"time"

	"orderstock/loadtest/history"
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

// Save writes the rows as JSON to the file, and makes its folder.
func Save(file string, rows []Row) error {
	return history.SaveJSON(file, map[string][]Row{"rows": rows})
}

// table finds rows by lock and shape.
type table []Row

func (t table) find(lock string, s shape) (Row, bool) {
	for _, r := range t {
		if r.Lock == lock && (shape{processes: r.Processes, contenders: r.Contenders, paths: r.Paths}) == s && r.Hold == 0 {
			return r, true
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

// targets returns the targets that these rows can be judged by.
func (t table) targets() []target {
	var all []target
	ratio := func(text, lock, other string, s shape, of func(Row) float64, goal float64, most bool) {
		a, ok := t.find(lock, s)
		b, also := t.find(other, s)
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
		if r, ok := t.find(lock, crowd); ok && r.measured >= fairnessWindow {
			all = append(all, target{
				fmt.Sprintf("64 on one path, %s: least process's share over %s", lock, r.measured),
				r.leastShare, 0.5, false,
			})
		}
	}
	return all
}

// PrintTargets prints each target that the rows can be judged by, and reports whether one was missed.
func PrintTargets(out io.Writer, rows []Row) (missed bool) {
	fmt.Fprintln(out, "\ntargets")
	for _, t := range table(rows).targets() {
		word, bound := "reached", "at least"
		if !t.reached() {
			word, missed = "MISSED", true
		}
		if t.most {
			bound = "at most"
		}
		fmt.Fprintf(out, "  %-8s %-60s %8.2f (%s %g)\n", word, t.text, t.value, bound, t.goal)
	}
	return missed
}
