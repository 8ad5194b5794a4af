package faults

import (
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"orderstock/loadtest/verify"
)

// Counts are the figures of a run, or their sums over several runs.
type Counts struct {
	// Fired is how often the fault struck.
	Fired int `json:"fired"`
	// Orders is the number of orders sent; OK and Rejected are outcomes in the database.
	Orders   int `json:"orders"`
	OK       int `json:"ok"`
	Rejected int `json:"rejected"`
	// UnknownToClient counts orders whose outcome no client received.
	UnknownToClient int `json:"unknown_to_client"`
	Violations      int `json:"violations"`
	Unsettled       int `json:"unsettled"`
	// GivenUp counts orders that were cancelled although no client asked for it.
	GivenUp int `json:"given_up"`
	// Retried503 and RetriedLost count, in a rolling restart, the orders whose first call was answered 503, or whose
	// connection was refused or broke. Clients repeated them under their keys.
	Retried503  int `json:"retried_503,omitempty"`
	RetriedLost int `json:"retried_lost,omitempty"`
}

func (c *Counts) add(other Counts) {
	c.Fired += other.Fired
	c.Orders += other.Orders
	c.OK += other.OK
	c.Rejected += other.Rejected
	c.UnknownToClient += other.UnknownToClient
	c.Violations += other.Violations
	c.Unsettled += other.Unsettled
	c.GivenUp += other.GivenUp
	c.Retried503 += other.Retried503
	c.RetriedLost += other.RetriedLost
}

// Row is a cell with the sum of its runs.
type Row struct {
	Cell
	Counts
	Runs int `json:"runs"`
	// SettleP99MS is the 99th percentile of Run.SettleMS over all runs; 0 if no order was unfinished at the heal.
	SettleP99MS float64 `json:"settle_p99_ms"`
	// WritesAgainS is the maximum over the runs, in seconds; nil unless the cell is of a cluster.
	WritesAgainS *float64 `json:"writes_again_s,omitempty"`
	// ReadFrom is the group member that the last run's verdict was read from: its primary by then.
	ReadFrom string `json:"read_from,omitempty"`
	// Unknown counts the inconclusive runs.
	Unknown int `json:"unknown"`
	// Verdict is the worst outcome of the runs; unknown if there are none.
	Verdict verify.Outcome `json:"verdict"`

	settle []float64
}

// Report is the result of many runs.
type Report struct {
	Seeds int    `json:"seeds"`
	Cells []*Row `json:"cells"`
	Total struct {
		Counts
		Runs    int     `json:"runs"`
		Unknown int     `json:"unknown"`
		Seconds float64 `json:"seconds"`
	} `json:"total"`
	Verdict verify.Outcome `json:"verdict"`
	// NotApplicable lists the cells that make no sense, with the reason.
	NotApplicable []Cell `json:"not_applicable"`
}

// newReport sums up runs, with a row for each applicable cell, in their order.
func newReport(seeds int, cells []Cell, runs []*Run) *Report {
	r := &Report{Seeds: seeds, Verdict: verify.Pass, NotApplicable: []Cell{}}
	rows := map[string]*Row{}
	for _, c := range cells {
		if c.NA != "" {
			r.NotApplicable = append(r.NotApplicable, c)
			continue
		}
		row := &Row{Cell: c, Verdict: verify.Unknown}
		rows[c.Name()] = row
		r.Cells = append(r.Cells, row)
	}
	for _, run := range runs {
		rows[run.Cell.Name()].add(run)
		r.Total.Counts.add(run.Counts)
	}
	for _, row := range r.Cells {
		row.SettleP99MS = percentile(row.settle, 0.99)
		r.Total.Runs += row.Runs
		r.Total.Unknown += row.Unknown
		r.Verdict = r.Verdict.Or(row.Verdict)
	}
	return r
}

func (row *Row) add(run *Run) {
	if row.Runs++; row.Runs == 1 {
		row.Verdict = verify.Pass
	}
	row.Counts.add(run.Counts)
	row.Verdict = row.Verdict.Or(run.Outcome)
	if run.WritesAgainS != nil && (row.WritesAgainS == nil || *row.WritesAgainS < *run.WritesAgainS) {
		row.WritesAgainS = run.WritesAgainS
	}
	if run.Verdict != nil {
		row.ReadFrom = run.Verdict.ReadFrom
	}
	row.settle = append(row.settle, run.SettleMS...)
	if run.Outcome == verify.Unknown {
		row.Unknown++
	}
}

// percentile returns the smallest value that is at least a share q of the values.
func percentile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[int(math.Ceil(q*float64(len(values))))-1]
}

// Write prints the cells that do not apply or did not pass, and the totals.
func (r *Report) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range r.NotApplicable {
		_, _ = fmt.Fprintf(t, "N/A\t%s\t%s\n", c.Name(), c.NA) // reported by Flush
	}
	for _, row := range r.Cells {
		if row.Verdict != verify.Pass {
			_, _ = fmt.Fprintf(t, "%s\t%s\tviolations %d, unsettled %d, unknown runs %d of %d\n",
				row.Verdict, row.Name(), row.Violations, row.Unsettled, row.Unknown, row.Runs)
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	_, err := fmt.Fprintf(w,
		"FAULTS: %s cells=%d runs=%d orders=%d fired=%d violations=%d unknown=%d unsettled=%d in %.0f s\n",
		r.Verdict, len(r.Cells), r.Total.Runs, r.Total.Orders, r.Total.Fired, r.Total.Violations, r.Total.Unknown,
		r.Total.Unsettled, r.Total.Seconds)
	return err
}

// table collects runs, and prints a line for each as it ends, with the overall progress.
type table struct {
	mu    sync.Mutex
	out   io.Writer
	total int
	runs  []*Run
	began time.Time
}

const tableLine = "%-9s %-52s %6v %6v %6v %6v %6v %6v %8v %8v  %s\n"

func newTable(out io.Writer, total int) *table {
	t := &table{out: out, total: total, began: time.Now()}
	fmt.Fprintf(out, tableLine,
		"", "CELL@SEED", "FIRED", "ORDERS", "OK", "REJ", "UNKNWN", "VIOL", "SETTLE", "TOOK", "VERDICT")
	return t
}

// add keeps and prints a run. It is safe for concurrent use.
func (t *table) add(r *Run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs = append(t.runs, r)
	ended := len(t.runs)
	verdict := string(r.Outcome)
	if r.WritesAgainS != nil {
		verdict += fmt.Sprintf(" (writes again after %.1f s)", *r.WritesAgainS)
	}
	if r.Retried503+r.RetriedLost > 0 {
		verdict += fmt.Sprintf(" (retried: %d answers of 503, %d lost connections)", r.Retried503, r.RetriedLost)
	}
	for _, why := range r.Why {
		verdict += "\n          " + why
	}
	left := time.Since(t.began) / time.Duration(ended) * time.Duration(t.total-ended)
	if ended%10 == 0 {
		verdict += fmt.Sprintf("  (%s left)", left.Round(time.Second))
	}
	fmt.Fprintf(t.out, tableLine, fmt.Sprintf("[%d/%d]", ended, t.total), fmt.Sprintf("%s@%d", r.Cell.Name(), r.Seed),
		r.Fired, r.Orders, r.OK, r.Rejected, r.UnknownToClient, r.Violations,
		fmt.Sprintf("%.0fms", percentile(r.SettleMS, 0.99)), r.Took.Round(100*time.Millisecond), verdict)
}
