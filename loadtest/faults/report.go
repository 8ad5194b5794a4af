package faults

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"orderstock/loadtest/verify"
)

// Row is a cell with the sum of its runs.
type Row struct {
	Step            string `json:"step"`
	When            string `json:"when"`
	Fault           string `json:"fault"`
	Baskets         bool   `json:"baskets,omitempty"`
	Runs            int    `json:"runs"`
	Fired           int    `json:"fired"`
	Orders          int    `json:"orders"`
	OK              int    `json:"ok"`
	Rejected        int    `json:"rejected"`
	UnknownToClient int    `json:"unknown_to_client"`
	Violations      int    `json:"violations"`
	Unsettled       int    `json:"unsettled"`
	// GivenUp counts orders that were cancelled although no client asked for it.
	GivenUp int `json:"given_up"`
	// SettleP99MS is the 99th percentile of Run.SettleMS over all runs; 0 if no order was unfinished at the heal.
	SettleP99MS float64 `json:"settle_p99_ms"`
	// Linearizable counts the runs with a linearization; for the others the search timed out.
	Linearizable int `json:"linearizable"`
	// WritesAgainS is the maximum over the runs, in seconds; nil unless the cell is of a cluster.
	WritesAgainS *float64 `json:"writes_again_s,omitempty"`
	Retried503   int      `json:"retried_503,omitempty"`
	RetriedLost  int      `json:"retried_lost,omitempty"`
	// ReadFrom is the group member that the last run's verdict was read from: its primary by then.
	ReadFrom string `json:"read_from,omitempty"`
	// Unknown counts the inconclusive runs.
	Unknown int    `json:"unknown"`
	Verdict string `json:"verdict"`

	settle []float64
}

// Report is the result of many runs.
type Report struct {
	Seeds int    `json:"seeds"`
	Cells []*Row `json:"cells"`
	Total struct {
		Runs       int     `json:"runs"`
		Orders     int     `json:"orders"`
		Fired      int     `json:"fired"`
		Violations int     `json:"violations"`
		Unknown    int     `json:"unknown"`
		Unsettled  int     `json:"unsettled"`
		Seconds    float64 `json:"seconds"`
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
		row := &Row{Step: c.Step, When: c.When, Fault: c.Fault, Baskets: c.Baskets, Verdict: string(verify.Unknown)}
		rows[c.Name()] = row
		r.Cells = append(r.Cells, row)
	}
	for _, run := range runs {
		rows[run.Cell.Name()].add(run)
		r.Total.Runs++
		r.Total.Orders += run.Orders
		r.Total.Fired += run.Fired
		r.Total.Violations += run.Violations
		r.Total.Unsettled += run.Unsettled
		if run.Outcome == verify.Unknown {
			r.Total.Unknown++
		}
	}
	for _, row := range r.Cells {
		row.SettleP99MS = percentile(row.settle, 0.99)
		switch {
		case row.Verdict == string(verify.Violation):
			r.Verdict = verify.Violation
		case row.Verdict != string(verify.Pass) && r.Verdict == verify.Pass:
			r.Verdict = verify.Unknown
		}
	}
	return r
}

// name returns the name of the row's cell.
func (row *Row) name() string {
	return Cell{Step: row.Step, When: row.When, Fault: row.Fault, Baskets: row.Baskets}.Name()
}

func (row *Row) add(run *Run) {
	if row.Runs == 0 {
		row.Verdict = string(verify.Pass)
	}
	row.Runs++
	row.Fired += run.Fired
	row.Orders += run.Orders
	row.OK += run.OK
	row.Rejected += run.Rejected
	row.UnknownToClient += run.UnknownToClient
	row.Violations += run.Violations
	row.Unsettled += run.Unsettled
	row.GivenUp += run.GivenUp
	row.Retried503 += run.Retried503
	row.RetriedLost += run.RetriedLost
	if run.WritesAgainS != nil && (row.WritesAgainS == nil || *row.WritesAgainS < *run.WritesAgainS) {
		row.WritesAgainS = run.WritesAgainS
	}
	if run.Verdict != nil {
		row.ReadFrom = run.Verdict.ReadFrom
	}
	row.settle = append(row.settle, run.SettleMS...)
	if run.Linear == "pass" {
		row.Linearizable++
	}
	switch run.Outcome {
	case verify.Violation:
		row.Verdict = string(verify.Violation)
	case verify.Unknown:
		row.Unknown++
		if row.Verdict == string(verify.Pass) {
			row.Verdict = string(verify.Unknown)
		}
	case verify.Pass:
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
		if row.Verdict != string(verify.Pass) {
			_, _ = fmt.Fprintf(t, "%s\t%s\tviolations %d, unsettled %d, unknown runs %d of %d\n",
				row.Verdict, row.name(), row.Violations, row.Unsettled, row.Unknown, row.Runs)
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
