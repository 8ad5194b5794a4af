package trial

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"orderstock/loadtest/report"
	"orderstock/loadtest/verify"
)

// Row is an experiment with the sum of its runs.
type Row struct {
	Experiment
	Counts
	Runs int `json:"runs" col:"Runs"`
	// SettleP99MS is the 99th percentile of Result.SettleMS over all runs; 0 if no order was unfinished at the heal.
	SettleP99MS float64 `json:"settle_p99_ms" col:"Settled within, ms" fmt:"%.0f"`
	// WritesAgainS is the maximum over the runs, in seconds; nil unless the experiment is on a cluster.
	WritesAgainS *float64 `json:"writes_again_s,omitempty"`
	// ReadFrom is the group member that the last run's verdict was read from: its primary by then.
	ReadFrom string `json:"read_from,omitempty"`
	// Unknown counts the inconclusive runs.
	Unknown int `json:"unknown" col:"Proved nothing"`
	// Broken lists every requirement found broken.
	Broken []string `json:"broken,omitempty"`
	// Says are words of the checks about the runs.
	Says []string `json:"says,omitempty"`
	// CaughtBy is the expectation if it was met; otherwise it lists the requirements found broken, or is "nothing".
	CaughtBy string `json:"caught_by,omitempty" col:"Caught by"`
	// Verdict is the worst outcome of the runs that were not replaced, unknown if there are none; or, if something else
	// than a pass is expected, pass if it came about.
	Verdict verify.Outcome `json:"verdict" col:"Verdict"`

	// Ended are the runs.
	Ended []*Result `json:"-"`

	settle []float64
	counts bool // the outcome of one of its runs
}

// Wrong reports whether the row is not as expected.
func (row *Row) Wrong() bool { return row.Verdict != verify.Pass }

// Report is the result of a table of experiments.
type Report struct {
	Table string `json:"table"`
	Seeds int    `json:"seeds"`
	Rows  []*Row `json:"rows"`
	Total struct {
		Counts
		Runs    int     `json:"runs"`
		Unknown int     `json:"unknown"`
		Seconds float64 `json:"seconds"`
	} `json:"total"`
	Verdict verify.Outcome `json:"verdict"`
}

// Whole reports whether the report is of a table with a name. Files of an older form have none.
func (r *Report) Whole() bool { return r.Table != "" && len(r.Rows) > 0 }

// newReport sums up the runs of a suite, with a row for each experiment, in their order.
func newReport(s Suite, ended *progress) *Report {
	r := &Report{Table: s.Table, Seeds: s.Seeds, Verdict: verify.Pass, Rows: []*Row{}}
	r.Total.Seconds = time.Since(ended.began).Seconds()
	rows := map[string]*Row{}
	for _, e := range s.Experiments {
		rows[e.Name] = &Row{Experiment: e, Verdict: verify.Unknown}
		r.Rows = append(r.Rows, rows[e.Name])
	}
	for _, run := range ended.runs {
		rows[run.Experiment].add(run)
		r.Total.Counts.add(run.Counts)
	}
	for _, row := range r.Rows {
		row.conclude()
		r.Total.Runs += row.Runs
		r.Total.Unknown += row.Unknown
		r.Verdict = r.Verdict.Or(row.Verdict)
	}
	if len(r.Rows) == 0 {
		r.Verdict = verify.Unknown
	}
	return r
}

func (row *Row) add(run *Result) {
	row.Runs++
	row.Ended = append(row.Ended, run)
	row.Counts.add(run.Counts)
	switch {
	case run.replaced:
	case !row.counts:
		row.Verdict, row.counts = run.Outcome, true
	default:
		row.Verdict = row.Verdict.Or(run.Outcome)
	}
	if run.WritesAgainS != nil && (row.WritesAgainS == nil || *row.WritesAgainS < *run.WritesAgainS) {
		row.WritesAgainS = run.WritesAgainS
	}
	if run.Verdict != nil {
		row.ReadFrom = run.Verdict.ReadFrom
	}
	row.settle, row.Says = append(row.settle, run.SettleMS...), append(row.Says, run.Says...)
	if run.Outcome == verify.Unknown {
		row.Unknown++
	}
	for _, name := range run.Broken {
		if !slices.Contains(row.Broken, name) {
			row.Broken = append(row.Broken, name)
		}
	}
}

// conclude says what caught the experiment: the expected requirement, if that is among the broken.
func (row *Row) conclude() {
	row.SettleP99MS = percentile(row.settle, 0.99)
	if row.Expect == (Expect{}) || row.Runs == 0 {
		return
	}
	met := row.Expect.met(row.Broken)
	if row.Expect.Absorbed != "" {
		met = len(row.Broken) == 0 && row.Unknown < row.Runs
	}
	switch row.Verdict = verify.Violation; {
	case met:
		row.Verdict, row.CaughtBy = verify.Pass, row.Expect.String()
	case len(row.Broken) > 0:
		row.CaughtBy = strings.Join(row.Broken, ", ")
	case row.Unknown == row.Runs:
		row.CaughtBy = "nothing: no run proved anything"
	default:
		row.CaughtBy = "nothing"
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

// progress collects runs, and prints a line for each as it ends.
type progress struct {
	mu    sync.Mutex
	table *report.Table
	total int
	runs  []*Result
	began time.Time
}

func newProgress(out io.Writer, total int) *progress {
	p := &progress{
		total: total, began: time.Now(), table: report.NewTable("EXPERIMENT@SEED", "FIRED", "ORDERS", "OK", "REJ", "UNKNWN",
			"VIOL", "SETTLE", "TOOK", "VERDICT"),
	}
	p.table.Follow(out, 62)
	return p
}

// oneMore adds a run that was not planned: another try.
func (p *progress) oneMore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total++
}

// add keeps and prints a run. It is safe for concurrent use.
func (p *progress) add(e Experiment, r *Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs = append(p.runs, r)
	verdict := string(e.Expect.Word(r.Outcome))
	if len(r.Broken) > 0 && e.Expect != (Expect{}) {
		verdict = "caught by " + strings.Join(r.Broken, ", ")
	}
	if r.WritesAgainS != nil {
		verdict += fmt.Sprintf(" (writes again after %.1f s)", *r.WritesAgainS)
	}
	if r.Retried503+r.RetriedLost > 0 {
		verdict += report.English.Sprintf(" (retried: %d answers of 503, %d lost connections)", r.Retried503, r.RetriedLost)
	}
	if e.Expect == (Expect{}) || r.Outcome == verify.Unknown {
		for _, why := range r.Why {
			verdict += "\n          " + why
		}
	}
	if ended := len(p.runs); ended%10 == 0 && ended < p.total {
		left := time.Since(p.began) / time.Duration(ended) * time.Duration(p.total-ended)
		verdict += fmt.Sprintf("  (%s left)", left.Round(time.Second))
	}
	name := fmt.Sprintf("[%d/%d] %s@%d", len(p.runs), p.total, r.Experiment, r.Seed)
	p.table.Add(r.Outcome != verify.Pass, name, r.Fired,
		r.Orders, r.OK, r.Rejected, r.UnknownToClient, r.Violations, fmt.Sprintf("%.0fms", percentile(r.SettleMS, 0.99)),
		r.Took.Round(100*time.Millisecond), verdict)
}
